import { accountOfIdentity, type RoleFields } from "../model/identity.ts";
import { ROLE_IDENTITY } from "../contract/capa-kinds.ts";
import { isJsonObject, parseJSON } from "../formats/json.ts";
import { quote } from "../formats/text.ts";
import { controllerAccountOf } from "../resolution/resolve.ts";
import { DURATION_LIMITS, MAX_CHAINED_SECONDS, MAX_POLICY_LENGTH } from "../model/session.ts";
import type { Fault, QuickCheck } from "./check.ts";
import { checkOf } from "./field-rule.ts";
import type { IdentityChange } from "./identity-change.ts";
import { EXTERNAL_ID, FILLED, ROLE_ARN, SESSION_NAME } from "./value-types.ts";

/** Returns the parameters of AssumeRole, or null for an identity without a role. */
function roleOf({ identity }: IdentityChange): RoleFields | null {
  return "roleARN" in identity ? identity : null;
}

const NO_ROLE = "the role is missing";
const ROLE_RULE = checkOf<IdentityChange>({
  id: "CI-20",
  severity: "deny",
  reason: "CAPA accepts any text as a role. STS rejects a text that is not the ARN of a role.",
  fix: "write the role's ARN as IAM shows it: arn:aws:iam::ACCOUNT:role/NAME",
  example: "spec: {roleARN: 'arn:aws:iam::123456789:role/CAPARole'} # the account has 9 digits",
  at: [["spec", "roleARN"]],
  type: ROLE_ARN,
  missing: NO_ROLE,
  // The defaulter of CAPA writes "" for a missing role.
  says: (value, faults) => (value === '""' ? NO_ROLE : `${value} is not the ARN of an IAM role: ${faults}`),
  policySays: "the value is not the ARN of an IAM role",
});

export const CI_20: QuickCheck<IdentityChange> = {
  ...ROLE_RULE, find: (change) => (roleOf(change) === null ? [] : ROLE_RULE.find(change)),
};

const NAME_RULE = checkOf<IdentityChange>({
  id: "CI-21",
  severity: "deny",
  reason: "STS rejects a session name or an external ID that has other characters or another length.",
  fix: "use the characters and the length that STS accepts",
  example: "spec: {sessionName: 'bad name!'}",
  at: [["spec", "sessionName"]],
  type: SESSION_NAME,
  within: FILLED,
  says: (value, fault) => `${value} ${fault}`,
  eachFault: true,
  policySays: "the session name is not valid",
});

// Does not quote the value, because an external ID is confidential.
const EXTERNAL_ID_RULE = checkOf<IdentityChange>({
  ...NAME_RULE, at: [["spec", "externalID"]], type: EXTERNAL_ID, says: (_, fault) => `the external ID ${fault}`,
});

export const CI_21: QuickCheck<IdentityChange> = {
  ...NAME_RULE,
  *find(change): Iterable<Fault> {
    if (roleOf(change) !== null) yield* NAME_RULE.find(change);
    if ("externalID" in change.identity) yield* EXTERNAL_ID_RULE.find(change);
  },
};

export const CI_22: QuickCheck<IdentityChange> = {
  id: "CI-22",
  severity: "deny",
  reason: "STS rejects a session policy that is not a JSON object or is too long.",
  fix: "write an IAM policy as a JSON object of at most 2,048 characters",
  example: "spec: {inlinePolicy: 'allow all'}",
  *find(change): Iterable<Fault> {
    const policy = roleOf(change)?.inlinePolicy ?? null;
    const path = ["spec", "inlinePolicy"];
    if (policy === null) return;
    if (policy.length > MAX_POLICY_LENGTH) {
      yield { path, message: `the policy has ${policy.length} characters, more than ${MAX_POLICY_LENGTH}` };
    } else if (!isJsonObject(parseJSON(policy))) {
      yield { path, message: `${quote(policy)} is not a JSON object` };
    }
  },
};

export const CI_23: QuickCheck<IdentityChange> = {
  id: "CI-23",
  severity: "deny",
  waivable: true,
  reason: "Shipped CAPA ignores policyARNs. Sessions have all permissions of the role.",
  fix: "write the restriction as inlinePolicy, or restrict the policies of the role in IAM",
  example: "spec: {policyARNs: ['arn:aws:iam::aws:policy/ReadOnlyAccess']}",
  *find(change): Iterable<Fault> {
    const policies = roleOf(change)?.policyARNs ?? [];
    if (policies.length === 0 || change.settings.runtime === "extended") return;
    yield { path: ["spec", "policyARNs"], message: "shipped CAPA ignores policyARNs" };
  },
};

export const CI_24: QuickCheck<IdentityChange> = {
  id: "CI-24",
  severity: "deny",
  reason: "STS limits a session to 12 hours, and a session that is created from another session to 1 hour.",
  fix: "set durationSeconds to 900 to 43200, or to at most 3600 if the source is an AWSClusterRoleIdentity",
  example: "spec: {durationSeconds: 7200, sourceIdentityRef: {kind: AWSClusterRoleIdentity, name: base}}",
  *find(change): Iterable<Fault> {
    const { identity } = change;
    const seconds = roleOf(change)?.durationSeconds ?? null;
    if (seconds === null) return;
    const path = ["spec", "durationSeconds"];
    const { min, max } = DURATION_LIMITS;
    const isChained = identity.kind === ROLE_IDENTITY && identity.source?.kind === identity.kind;
    if (seconds < min || seconds > max) yield { path, message: `${seconds} is not ${min} to ${max}` };
    else if (isChained && seconds > MAX_CHAINED_SECONDS) {
      yield { path, message: `${seconds} is more than ${MAX_CHAINED_SECONDS}, and the source is a role` };
    }
  },
};

export const CI_29: QuickCheck<IdentityChange> = {
  id: "CI-29",
  severity: "warn",
  reason: "Without an external ID, another customer of the service can make CAPA use the role.",
  fix: "set externalID, and require it in the trust policy of the role",
  example: "spec: {roleARN: 'arn:aws:iam::111122223333:role/capa'} # with --controller-account 444455556666",
  requires: ["--controller-account or --controller-role"],
  *find({ identity, settings }): Iterable<Fault> {
    if (identity.kind !== ROLE_IDENTITY || identity.externalID !== null) return;
    const account = accountOfIdentity(identity);
    if (account === null || account === controllerAccountOf(settings)) return;
    const message = `the role is in account ${quote(account)}, and externalID is missing`;
    yield { path: ["spec", "externalID"], message };
  },
};

/** The sidecar runs this check (sidecar/probe/assume-role-probe.ts), so that no admission review waits for AWS. */
export const CI_35 = {
  id: "CI-35",
  severity: "off",
  reason: "Only STS knows whether a role can be assumed. If this check is on, the sidecar test-assumes the role of "
    + "each AWSClusterRoleIdentity that a namespace may use, before a cluster needs it. It reports failures in its "
    + "log, in metrics and in Events. This check never denies a request.",
  fix: "allow sts:AssumeRole for the source of the identity in the role's trust policy, "
    + "with the external ID and the tags of the identity",
  example: "# with --check CI-35=warn, and a role whose trust policy does not name the source of the identity\n"
    + "spec: {roleARN: 'arn:aws:iam::111122223333:role/not-assumable'}",
  requires: ["STS"],
  find: () => [],
} satisfies QuickCheck<IdentityChange>;
