import { parseARN, parseRoleARN } from "../formats/arn.ts";
import { quote } from "../formats/text.ts";
import { entrantOf } from "./entrant.ts";
import type { IAMData } from "./iam-data.ts";
import type { IAMRole } from "./iam-objects.ts";
import type { ParsedPolicy, Policy, Statement } from "./policy-document.ts";
import type { Principal } from "./policy-principal.ts";
import { POLICY_SIZES } from "./policy-text.ts";
import { MANY, type Pattern } from "./wildcard-pattern.ts";

/** Why IAM rejects a planned trust policy as a whole, or may reject it. */
export interface Rejection {
  /** A clause that names what IAM does not accept. */
  readonly text: string;
  readonly isCertain: boolean;
}

/**
 * Returns why IAM does not store the trust policy of a role, so that nothing in it takes effect; null if it stores it.
 * A certain reason comes first. What IAM has stored is accepted. Sources:
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_principal.html (no wildcard in a part of
 * an ARN), reference_policies_elements_sid.html, reference_iam-quotas.html; the messages of MalformedPolicyDocument in
 * terraform-provider-aws#8905 and moto#5750.
 */
export function rejectionOf(role: Pick<IAMRole, "arn" | "trust" | "isStored">, data: IAMData): Rejection | null {
  const { trust, isStored, arn } = role;
  const policy = trust === null || isStored ? null : data.parse(trust, "trust").policy;
  if (trust === null || policy === null) return null;
  const found = [
    ...policy.statements.flatMap((statement) => rejectionsIn(statement, arn, data)), ...repeatedSids(policy),
    ...sizeRejections(trust),
  ];
  return found.find(({ isCertain }) => isCertain) ?? found[0] ?? null;
}

export function rejectionText({ text }: Rejection): string {
  return `IAM rejects the planned trust policy: ${text}`;
}

/** Returns a trust policy that may never be in force. */
export function doubtful({ text }: Rejection): ParsedPolicy {
  return { policy: null, fault: { path: [], message: `IAM may reject it: ${text}` } };
}

function rejectionsIn(statement: Statement, roleARN: string, data: IAMData): Rejection[] {
  const { index, sid, conditions, principals, actions } = statement;
  const place = `statement ${sid ?? index}`;
  const operator = conditions.find((one) => one.operator === null)?.operatorText;
  return [
    ...principals.items.flatMap((one) => principalRejection(one, { place, roleARN, data }) ?? []),
    ...(principals.items.length === 0 ? [perhaps(`${place} names no principal`)] : []),
    ...(principals.isNegated ? [perhaps(`${place} has NotPrincipal`)] : []),
    ...actionRejections(actions, place),
    ...(operator === undefined ? [] : [perhaps(`${place} has the operator ${quote(operator)}`)]),
    ...(sid === null || ALPHANUMERIC.test(sid) ? []
      : [certainly(`the Sid ${quote(sid)} has characters other than letters and digits`)]),
  ];
}

function actionRejections(actions: Statement["actions"], place: string): Rejection[] {
  if (actions.items.some(isOfOtherService)) return [certainly(`${place} has an action of another service than STS`)];
  const isOpen = actions.isNegated || actions.items.some(isOfAnyService);
  return isOpen ? [perhaps(`${place} has actions of other services than STS`)] : [];
}

function certainly(text: string): Rejection {
  return { text, isCertain: true };
}

function perhaps(text: string): Rejection {
  return { text, isCertain: false };
}

const ALPHANUMERIC = /^[A-Za-z0-9]*$/;
const SERVICE_NAME = /^[a-z0-9-]+(\.[a-z0-9-]+)+$/i;
/** The domains of services in all partitions, such as alexa-appkit.amazon.com and ec2.amazonaws.com.cn. */
const AWS_DOMAIN = /\.(amazonaws\.(com|com\.cn|eu)|amazon\.com|aws\.internal|c2s\.ic\.gov|sc2s\.sgov\.gov)$/i;
const SESSION = /:assumed-role\/[\w+=,.@-]{1,64}\/[\w+=,.@-]{1,64}$/;

/** A principal that has a name. */
type Named = Exclude<Principal, { readonly kind: "any" | "id" | "wildcard" }>;

type Invalid = Extract<Principal, { readonly kind: "invalid" }>;
/** A principal of one partition: an account, or an ARN in it. */
type Local = Extract<Principal, { readonly kind: "account" } | { readonly arn: string }>;

interface Place {
  readonly place: string;
  readonly roleARN: string;
  readonly data: IAMData;
}

function principalRejection(principal: Principal, context: Place): Rejection | null {
  const named = (text: string): string => `the principal ${quote(text)} of ${context.place}`;
  if (principal.kind === "wildcard") {
    const text = `${named(principal.text)} contains a wildcard`;
    // AWS documents no wildcard for an identity provider, and no message that rejects one.
    return principal.type === "Federated" ? perhaps(text) : certainly(text);
  }
  if (principal.kind === "id") return perhaps(`${named(principal.id)} may be the unique ID of a deleted role or user`);
  if (principal.kind === "any") return null;
  return principal.kind === "invalid" || isMalformed(principal)
    ? certainly(`${named(textOf(principal))} is malformed`) : namedRejection(principal, context);
}

/** Why IAM may reject a principal that is well-formed. */
function namedRejection(principal: Exclude<Named, Invalid>, context: Place): Rejection | null {
  if (principal.kind === "federated" || principal.kind === "service") {
    const doubt = doubtAbout(principal);
    const { name } = principal;
    return doubt === null ? null : perhaps(`the principal ${quote(name)} of ${context.place} ${doubt}`);
  }
  return foreignness(principal, context) ?? (principal.kind === "account" ? null : absence(principal, context));
}

function doubtAbout(principal: Extract<Principal, { readonly kind: "federated" | "service" }>): string | null {
  const { kind, name } = principal;
  if (kind === "service") return AWS_DOMAIN.test(name) ? null : "may not be a service of AWS";
  return entrantOf(principal) !== null || name.includes(":federated-user/") ? null : "is malformed";
}

/** Roles work only inside a partition. */
function foreignness(principal: Local, { place, roleARN }: Place): Rejection | null {
  const own = parseARN(roleARN)?.partition ?? null;
  if (own === null || (partitionOf(principal) ?? own) === own) return null;
  return certainly(`the principal ${quote(textOf(principal))} of ${place} is not in the partition ${own} of the role`);
}

/** IAM replaces the ARN of a role or a user by its unique ID, so it must exist before the trust policy is stored. */
function absence(
  { kind, arn }: Extract<Principal, { readonly arn: string }>, { place, roleARN, data }: Place,
): Rejection | null {
  if (kind === "session") return null;
  if (arn === roleARN) return perhaps(`${place} names the role itself, which may not exist yet`);
  const found = kind === "role" ? data.role(arn) : data.accountOf(arn)?.users.get(arn) ?? null;
  if (found !== null || !data.hasAll(kind, arn)) return null;
  return certainly(`the principal ${quote(arn)} of ${place} does not exist in the export of its account`);
}

function isMalformed(principal: Exclude<Named, Invalid>): boolean {
  if (principal.kind === "service") return !SERVICE_NAME.test(principal.name);
  if (principal.kind === "session") return !SESSION.test(principal.arn);
  if (principal.kind !== "role" && principal.kind !== "user") return false;
  // The names and paths of users have the form of those of roles.
  return parseRoleARN(principal.arn.replace(":user/", ":role/")) === null;
}

function partitionOf(principal: Local): string | null {
  if (principal.kind === "account") return principal.partition;
  return principal.arn.slice("arn:".length, principal.arn.indexOf(":", "arn:".length));
}

function textOf(principal: Named): string {
  if (principal.kind === "account") return `arn:${principal.partition}:iam::${principal.accountID}:root`;
  if ("arn" in principal) return principal.arn;
  return "name" in principal ? principal.name : principal.text;
}

const STS = Array.from("sts:", (letter) => letter.charCodeAt(0));

/** Whether an action has another service than STS. */
function isOfOtherService(action: Pattern): boolean {
  return !isOfAnyService(action) && STS.some((unit, i) => action[i] !== unit);
}

/** Only the whole service of an action can be a wildcard. */
function isOfAnyService([first]: Pattern): boolean {
  return first === MANY;
}

function repeatedSids({ statements }: Policy): Rejection[] {
  const seen = new Set<string | null>();
  for (const { sid } of statements) {
    if (sid !== null && seen.has(sid)) return [certainly(`two statements have the Sid ${quote(sid)}`)];
    seen.add(sid);
  }
  return [];
}

/** Only the quota of the account tells whether a trust policy above the default size fits. */
function sizeRejections(document: string): Rejection[] {
  const size = document.replaceAll(/\s/g, "").length;
  const { trust, trustQuota } = POLICY_SIZES;
  if (size <= trust) return [];
  const isCertain = size > trustQuota;
  const limit = isCertain ? `${trustQuota}` : `the ${trust} that accounts have by default`;
  return [{ text: `it has ${size} characters, more than ${limit}`, isCertain }];
}
