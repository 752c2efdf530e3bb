import { compareText } from "../formats/text.ts";
import { ACTIONS, type Action } from "./assume-role-call.ts";
import { isInAccountOf, type NeededCall } from "./needed-call.ts";
import { POLICY_SIZES } from "./policy-text.ts";

/** A statement, with its elements in the order of the documentation. */
export interface NeededStatement {
  readonly Sid: string;
  readonly Effect: "Allow";
  readonly Principal?: { readonly AWS: string | readonly string[] };
  readonly Action: string | readonly string[];
  readonly Resource?: string | readonly string[];
  readonly Condition?: ConditionElement;
}

type ConditionElement = Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>;

export interface NeededPolicy {
  readonly Version: "2012-10-17";
  readonly Statement: readonly NeededStatement[];
}

/**
 * Returns the trust policy that lets the callers make the call, and nobody else. Each action has its own statement,
 * because AWS does not document that `sts:TagSession` has the key of the external ID. IAM stores the unique ID of a
 * caller, so whoever creates the caller again is not trusted.
 */
export function neededTrustPolicy(call: NeededCall): NeededPolicy {
  return policyOf(neededActions(call).map((action) => ({
    Sid: sidOf(action), Effect: "Allow", Principal: { AWS: oneOrList(call.callers) }, Action: action,
    ...conditionsOf(call, action),
  })));
}

/** Returns the trust policy for calls that differ, such as those for a selector and for an identity. */
export function neededTrustPolicyOf(calls: readonly NeededCall[]): NeededPolicy {
  const all = new Map(calls.flatMap((call) => neededTrustPolicy(call).Statement).map((one) => [
    JSON.stringify(one), one,
  ]));
  const used = new Map<string, number>();
  return policyOf([...all.values()].map((statement) => {
    const { Sid } = statement;
    const number = (used.get(Sid) ?? 0) + 1;
    used.set(Sid, number);
    return number === 1 ? statement : { ...statement, Sid: `${Sid}${number}` };
  }));
}

/** Returns the actions that each call needs. */
export function neededActions({ tags, addedTagKeys, sourceIdentity }: NeededCall): Action[] {
  const hasTags = tags.length > 0 || addedTagKeys.length > 0;
  return ACTIONS.filter((action) => (
    action === "sts:AssumeRole" || (action === "sts:TagSession" ? hasTags : sourceIdentity !== null)
  ));
}

function sidOf(action: Action): string {
  return action.slice("sts:".length);
}

function policyOf(statements: readonly NeededStatement[]): NeededPolicy {
  return { Version: "2012-10-17", Statement: statements };
}

function oneOrList(texts: readonly string[]): string | readonly string[] {
  const [only = "", ...others] = texts;
  return others.length === 0 ? only : texts;
}

function conditionsOf(
  { externalID, sessionName, sourceIdentity, tags, addedTagKeys }: NeededCall, action: Action,
): Pick<NeededStatement, "Condition"> {
  const isFirst = action === "sts:AssumeRole";
  const texts: readonly KeyValue[] = [
    ["sts:ExternalId", isFirst ? externalID ?? [] : []],
    ["sts:RoleSessionName", isFirst ? sessionName ?? [] : []],
    ["sts:SourceIdentity", action === "sts:TagSession" ? [] : sourceIdentity ?? []],
  ];
  const sent = action === "sts:SetSourceIdentity" ? [] : tags;
  const tagsOf = (isPattern: boolean): KeyValue[] => sent.filter((tag) => tag.isPattern === isPattern)
    .map(({ key, values }) => [`aws:RequestTag/${key}`, oneOrList(values)]);
  const keys = action === "sts:TagSession" ? [...tags.map(({ key }) => key), ...addedTagKeys] : [];
  return conditionElement([
    ["StringEquals", [...texts, ...tagsOf(false)]], ["StringLike", tagsOf(true)],
    ["ForAllValues:StringEquals", [["aws:TagKeys", keys]]],
  ]);
}

type KeyValue = readonly [key: string, value: string | readonly string[]];

/** An empty text is a value: a session tag can have it. */
function hasValue([, value]: KeyValue): boolean {
  return typeof value === "string" || value.length > 0;
}

/** Leaves out keys without values, and operators without keys. */
function conditionElement(
  operators: readonly (readonly [operator: string, keys: readonly KeyValue[]])[],
): Pick<NeededStatement, "Condition"> {
  const used = operators.map(([operator, keys]) => [operator, keys.filter(hasValue)] as const)
    .filter(([, keys]) => keys.length > 0);
  if (used.length === 0) return {};
  return { Condition: Object.fromEntries(used.map(([operator, keys]) => [operator, Object.fromEntries(keys)])) };
}

/**
 * Returns the identity policy that a caller needs for calls; null if it needs none. In one account, the trust policy is
 * enough, except for the source identity, which role chaining needs on both sides.
 */
export function neededCallerPolicy(caller: string, calls: readonly NeededCall[]): NeededPolicy | null {
  const roles = new Map<string, string[]>();
  for (const call of calls) {
    const isNear = isInAccountOf(call.role, caller);
    const actions = neededActions(call).filter((action) => !isNear || action === "sts:SetSourceIdentity");
    const key = actions.join(" ");
    if (key !== "") roles.set(key, [...roles.get(key) ?? [], call.role]);
  }
  if (roles.size === 0) return null;
  return policyOf([...roles].toSorted(([a], [b]) => compareText(a, b)).map(([key, arns], i) => ({
    Sid: `AssumeRoles${i + 1}`, Effect: "Allow", Action: oneOrList(key.split(" ")),
    Resource: oneOrList(arns.toSorted(compareText)),
  })));
}

export function sizeOf(policy: NeededPolicy): number {
  return JSON.stringify(policy).replaceAll(/\s/g, "").length;
}

/** Returns a warning if a trust policy does not fit by default. */
export function trustSizeWarnings(policy: NeededPolicy): string[] {
  const size = sizeOf(policy);
  const { trust, trustQuota } = POLICY_SIZES;
  if (size <= trust) return [];
  const fix = size > trustQuota ? `no account has more than ${trustQuota}, so use fewer callers or tags`
    : "request a higher quota of the role trust policy length";
  return [`the trust policy has ${size} characters, more than the ${trust} that accounts have by default; ${fix}`];
}

/** Returns a warning if the policy of a caller does not fit in one managed policy. */
export function callerSizeWarnings(policy: NeededPolicy): string[] {
  const size = sizeOf(policy);
  const { managed, inline } = POLICY_SIZES;
  if (size <= managed) return [];
  const other = size > inline ? "" : `use inline policies, which have ${inline} together, or `;
  return [`the policy of the caller has ${size} characters, more than the ${managed} of a managed policy; ${other}`
    + "give the roles a common path, and allow it with a resource such as arn:aws:iam::ACCOUNT:role/ack/*"];
}
