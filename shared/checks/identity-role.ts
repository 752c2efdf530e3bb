import { accountOfIdentity, type RoleFields } from "../model/identity.ts";
import { ROLE_IDENTITY } from "../contract/capa-kinds.ts";
import { parseARN, roleARNFaults } from "../formats/arn.ts";
import { isJsonObject, parseJSON } from "../formats/json.ts";
import { quote } from "../formats/text.ts";
import { controllerAccountOf } from "../resolution/resolve.ts";
import { textFaults } from "../model/session-annotations.ts";
import {
  DURATION_LIMITS, EXTERNAL_ID_LIMITS, MAX_CHAINED_SECONDS, MAX_POLICY_LENGTH, SESSION_NAME_LIMITS, type TextLimits,
} from "../model/session.ts";
import type { Fault, QuickCheck } from "./check.ts";
import type { IdentityChange } from "./identity-change.ts";

/** Returns the parameters of AssumeRole, or null for an identity without a role. */
function roleOf({ identity }: IdentityChange): RoleFields | null {
  return "roleARN" in identity ? identity : null;
}

export const CI_20: QuickCheck<IdentityChange> = {
  id: "CI-20",
  severity: "deny",
  waivable: false,
  reason: "CAPA accepts any text as a role. STS rejects a text that is not the ARN of a role.",
  fix: "write the role's ARN as IAM shows it: arn:aws:iam::ACCOUNT:role/NAME",
  example: "spec: {roleARN: 'arn:aws:iam::123456789:role/CAPARole'} # the account has 9 digits",
  *find(change): Iterable<Fault> {
    const role = roleOf(change);
    if (role === null) return;
    const arn = role.roleARN ?? "";
    const path = ["spec", "roleARN"];
    const parsed = parseARN(arn);
    if (arn === "") yield { path, message: "the role is missing" };
    else if (parsed === null) yield { path, message: `${quote(arn)} is not an ARN` };
    else {
      const faults = roleARNFaults(arn, parsed).join("; ");
      if (faults !== "") yield { path, message: `${quote(arn)} is not the ARN of an IAM role: ${faults}` };
    }
  },
};

interface CheckedText {
  readonly field: string;
  readonly text: string | null;
  /** The subject of the message. */
  readonly subject: string;
}

function* faultsOfText({ field, text, subject }: CheckedText, limits: TextLimits): Iterable<Fault> {
  for (const fault of text === null ? [] : textFaults(text, limits)) {
    yield { path: ["spec", field], message: `${subject} ${fault}` };
  }
}

export const CI_21: QuickCheck<IdentityChange> = {
  id: "CI-21",
  severity: "deny",
  waivable: false,
  reason: "STS rejects a session name or an external ID that has other characters or another length.",
  fix: "use the characters and the length that STS accepts",
  example: "spec: {sessionName: 'bad name!'}",
  *find(change): Iterable<Fault> {
    const { identity } = change;
    const name = roleOf(change)?.sessionName ?? null;
    yield* faultsOfText({ field: "sessionName", text: name, subject: quote(name ?? "") }, SESSION_NAME_LIMITS);
    const externalID = "externalID" in identity ? identity.externalID : null;
    // The message does not quote the value, because an external ID is confidential.
    yield* faultsOfText({ field: "externalID", text: externalID, subject: "the external ID" }, EXTERNAL_ID_LIMITS);
  },
};

export const CI_22: QuickCheck<IdentityChange> = {
  id: "CI-22",
  severity: "deny",
  waivable: false,
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
  waivable: false,
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
  waivable: false,
  reason: "Without an external ID, another customer of the service can make CAPA use the role (confused deputy).",
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
  waivable: false,
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
