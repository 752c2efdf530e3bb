import { controllerAccountOf } from "../core/resolution.ts";
import { IDENTITIES } from "./identities.ts";
import { accountOfIdentity, type Identity, type RoleFields, type ServiceAccountIdentity } from "./identity.ts";
import { CONTROLLER_IDENTITY, ROLE_IDENTITY, SERVICE_ACCOUNT_IDENTITY } from "../core/capa-kinds.ts";
import { quote } from "../formats/text.ts";
import {
  EXPIRATION_LIMITS, MAX_AUDIENCES, policyFaults, type SessionFault, tagFaults, tokenFaults,
} from "./role-session.ts";
import { TOKEN_KEY } from "./identity-secret.ts";
import type { FieldPath } from "../formats/json.ts";
import { roleRepairs } from "../core/role-repairs.ts";
import { by, remove, type Repair, repairsOf, safely, set } from "../core/repair.ts";
import { DURATION_LIMITS, MAX_CHAINED_SECONDS, SESSION_NAME_LIMITS } from "../core/session.ts";
import type { Fault, QuickCheck } from "../core/check.ts";
import { checkOf } from "../core/field-rule.ts";
import { type IdentityChange, secretOf } from "./identity-change.ts";
import { EXTERNAL_ID, FILLED, ROLE_ARN, SESSION_NAME } from "../core/value-types.ts";
import { NEEDS } from "../core/requirements.ts";

/** Returns the parameters of AssumeRole, or null for an identity without a role. */
function roleOf({ identity }: IdentityChange): RoleFields | null {
  return "roleARN" in identity ? identity : null;
}

function inSpec({ field, message }: SessionFault): Fault {
  return { path: ["spec", field], message };
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
  ...ROLE_RULE,
  *find(change): Iterable<Fault> {
    if (roleOf(change) === null) return;
    for (const fault of ROLE_RULE.find(change)) {
      yield { ...fault, ...repairsOf(roleRepairs(fault.path, fault.value ?? "")) };
    }
  },
};

const NAME_RULE = checkOf<IdentityChange>({
  id: "CI-21",
  severity: "deny",
  reason: "STS rejects a session name, an external ID or a session tag that has other characters or another length, "
    + "and a transitive tag that the session does not have.",
  fix: "use the characters and the length that STS accepts, and write each key of transitiveTags in tags",
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
    const role = roleOf(change);
    if (role === null) return;
    for (const fault of NAME_RULE.find(change)) yield { ...fault, ...repairsOf(sessionNameRepair(fault)) };
    if ("externalID" in change.identity) yield* EXTERNAL_ID_RULE.find(change);
    yield* tagFaults(role).map(inSpec).map((fault) => (
      fault.path.includes("transitiveTags") ? { ...fault, repairs: transitiveRepair(role, fault.path) } : fault
    ));
  },
};

/** Returns the repair that replaces the characters that STS rejects. */
function sessionNameRepair({ path, value = "" }: Fault): readonly Repair[] {
  const { max } = SESSION_NAME_LIMITS;
  const name = value.slice(0, LONGEST_NAME).trim().replaceAll(/[^\w+=,.@-]+/g, "-").slice(0, max);
  return SESSION_NAME.faults(name).length === 0 ? by(set(path, name)) : [];
}

/** Longer session names are cut before they are searched. */
const LONGEST_NAME = 1000;

/** Returns the repair that keeps only the keys that the session has. */
function transitiveRepair({ tags, transitiveTags }: RoleFields, path: FieldPath): readonly Repair[] {
  const keys = new Set(tags.map(({ key }) => key.toLowerCase()));
  const kept = transitiveTags.filter((key) => keys.has(key.toLowerCase()));
  return by(kept.length === 0 ? remove(path) : set(path, kept));
}

export const CI_22: QuickCheck<IdentityChange> = {
  id: "CI-22",
  severity: "deny",
  reason: "STS rejects a session policy that is not a JSON object, a managed policy that is not an ARN, and policies "
    + "that are too many or too long.",
  fix: "write an IAM policy as a JSON object and at most 10 ARNs of IAM policies, together at most 2,048 characters",
  example: "spec: {inlinePolicy: 'allow all'}",
  find: (change) => {
    const role = roleOf(change);
    return role === null ? [] : policyFaults(role).map((fault) => (
      { ...inSpec(fault), ...repairsOf(fault.field === "policyARNs" ? policyARNsRepair(role) : []) }
    ));
  },
};

/** Returns the repair of policies with blanks around their ARNs, or that are listed twice. */
function policyARNsRepair(role: RoleFields): readonly Repair[] {
  const policyARNs = [...new Set(role.policyARNs.map((arn) => arn.trim()))];
  const isValid = policyFaults({ ...role, policyARNs }).every(({ field }) => field !== "policyARNs");
  return isValid ? safely(set(["spec", "policyARNs"], policyARNs)) : [];
}

export const CI_23: QuickCheck<IdentityChange> = {
  id: "CI-23",
  severity: "deny",
  waivable: true,
  reason: "Shipped CAPA ignores policyARNs. Sessions have all permissions of the role.",
  fix: "write the restriction as inlinePolicy, or restrict the policies of the role in IAM",
  example: "spec: {policyARNs: ['arn:aws:iam::aws:policy/ReadOnlyAccess']}",
  *find(change): Iterable<Fault> {
    const { identity, settings } = change;
    // Shipped CAPA does not have the other kind with this field, AWSServiceAccountIdentity.
    if (identity.kind !== ROLE_IDENTITY || identity.policyARNs.length === 0 || settings.runtime === "extended") return;
    const path = ["spec", "policyARNs"];
    yield { path, message: "shipped CAPA ignores policyARNs", fix: CI_23.fix, repairs: by(remove(path)) };
  },
};

export const CI_24: QuickCheck<IdentityChange> = {
  id: "CI-24",
  severity: "deny",
  reason: "STS limits a session to 12 hours, and a session that is created from another session to 1 hour. The check "
    + "only warns about the controller identity, whose credentials are a session unless CAPA has the keys of an IAM "
    + "user.",
  fix: "set durationSeconds to 900 to 43200, or to at most 3600 if the credentials of the source are a session",
  example: "spec: {durationSeconds: 7200, sourceIdentityRef: {kind: AWSClusterRoleIdentity, name: base}}",
  *find(change): Iterable<Fault> {
    const seconds = roleOf(change)?.durationSeconds ?? null;
    if (seconds === null) return;
    const path = ["spec", "durationSeconds"];
    const { min, max } = DURATION_LIMITS;
    const session = seconds <= MAX_CHAINED_SECONDS ? null : sourceSession(change);
    const nearest = seconds < min ? min : session === null ? max : MAX_CHAINED_SECONDS;
    const repairs = by(set(path, nearest));
    if (seconds < min || seconds > max) yield { path, message: `${seconds} is not ${min} to ${max}`, repairs };
    else if (session !== null) {
      const message = `${seconds} is more than ${MAX_CHAINED_SECONDS}, and ${session.message}`;
      yield { ...session, path, message, repairs };
    }
  },
};

/** Returns why the credentials of the source are a session, or may be one. Returns null for other credentials. */
function sourceSession(change: IdentityChange): Pick<Fault, "message" | "severity"> | null {
  const { identity, inventory } = change;
  const source = identity.kind === ROLE_IDENTITY ? identity.source : null;
  if (source?.kind === ROLE_IDENTITY) return { message: "the source is a role" };
  if (source?.kind === CONTROLLER_IDENTITY) return { message: "the source is usually a session", severity: "warn" };
  const stored = source === null ? null : inventory.of(IDENTITIES).get(source, "");
  if (stored === null || !hasToken(stored, change)) return null;
  return { message: `the Secret of the source has a ${TOKEN_KEY}` };
}

function hasToken(identity: Identity, change: IdentityChange): boolean {
  const keys = secretOf(identity, change)?.metadata?.keys ?? [];
  return keys.some(({ name, state }) => name === TOKEN_KEY && state === "present");
}

export const CI_29: QuickCheck<IdentityChange> = {
  id: "CI-29",
  severity: "warn",
  reason: "Without an external ID, another customer of the service can make CAPA use the role.",
  fix: "set externalID, and require it in the trust policy of the role",
  example: "spec: {roleARN: 'arn:aws:iam::111122223333:role/capa'} # with --controller-account 444455556666",
  requires: [NEEDS.controllerAccount],
  *find({ identity, settings }): Iterable<Fault> {
    if (identity.kind !== ROLE_IDENTITY || identity.externalID !== null) return;
    const account = accountOfIdentity(identity);
    if (account === null || account === controllerAccountOf(settings)) return;
    const message = `the role is in account ${quote(account)}, and externalID is missing`;
    yield { path: ["spec", "externalID"], message };
  },
};

export const CI_37: QuickCheck<IdentityChange> = {
  id: "CI-37",
  severity: "deny",
  reason: "The API server limits the lifetime of a token, and writes no session tags into it. A sidecar issues no "
    + "credentials of such an identity.",
  fix: "set expirationSeconds to 600 to 4294967296 and at most 10 audiences, and remove tags and transitiveTags",
  example: "kind: AWSServiceAccountIdentity\nspec: {expirationSeconds: 60}",
  find: ({ identity }) => (
    identity.kind === SERVICE_ACCOUNT_IDENTITY
      ? tokenFaults(identity).map((fault) => ({ ...inSpec(fault), ...repairsOf(tokenRepairs(identity, fault)) })) : []
  ),
};

function tokenRepairs(
  { audiences, expirationSeconds }: ServiceAccountIdentity, { field }: SessionFault,
): readonly Repair[] {
  const path = ["spec", field];
  const { min, max } = EXPIRATION_LIMITS;
  if (field === "expirationSeconds") return by(set(path, expirationSeconds < min ? min : max));
  if (field !== "audiences") return by(remove(["spec", "tags"]), remove(["spec", "transitiveTags"]));
  const different = [...new Set(audiences)];
  return different.length > MAX_AUDIENCES ? [] : safely(set(path, different));
}

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
  requires: [NEEDS.sts],
  find: () => [],
} satisfies QuickCheck<IdentityChange>;
