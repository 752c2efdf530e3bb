import type { RoleTarget } from "../core/role-target.ts";
import { parseARN } from "../formats/arn.ts";
import { compareText } from "../formats/text.ts";
import { decideWithTrust, type Existing } from "./decide-with-trust.ts";
import type { NeededCall, NeededCallers } from "./needed-call.ts";
import {
  callerSizeWarnings, neededCallerPolicy, type NeededPolicy, neededTrustPolicyOf, sizeOf, trustSizeWarnings,
} from "./needed-policies.ts";
import { differenceTo, type PolicyDifference } from "./policy-comparison.ts";
import type { PolicyResource } from "./policy-formats.ts";
import { POLICY_SIZES } from "./policy-text.ts";
import { callsFor, type RoleNeeds } from "./role-needs.ts";
import type { Answer } from "./three-values.ts";
import { serviceOf } from "../core/ack-groups.ts";
import { inlinePolicyURL, KNOWN_MISSING, recommendedPolicy } from "../core/ack-policies.ts";
import type { EffectiveSelector } from "../core/effective-selector.ts";

interface Plan {
  /** The number of characters without white space. */
  readonly characters: number;
  readonly warnings: readonly string[];
}

/** What a role needs, in the format of `-o json`. */
export interface RolePlan extends Plan {
  readonly role: string;
  readonly selectors: readonly string[];
  /** The identities that name the role, and the keys of CARM maps. Absent without any. */
  readonly identities?: readonly string[];
  readonly maps?: readonly string[];
  readonly trustPolicy: NeededPolicy;
  readonly permissions: readonly KindPermissions[];
  readonly difference?: RoleDifference;
}

/** What an export has instead. */
export interface RoleDifference extends PolicyDifference {
  /** Whether the policies of each caller let it make the call. */
  readonly callers: readonly { readonly caller: string; readonly allowed: Answer }[];
}

/** What a caller needs. */
export interface CallerPlan extends Plan {
  readonly caller: string;
  /** Null if the trust policies are enough. */
  readonly policy: NeededPolicy | null;
}

export interface PolicyPlan {
  readonly roles: readonly RolePlan[];
  readonly callers: readonly CallerPlan[];
}

/** Returns the policies for roles and callers. `existing` is null if they are not compared. */
export function policyPlan(
  needs: readonly RoleNeeds[], callers: NeededCallers, existing: Existing | null,
): PolicyPlan {
  const roles = needs.map((role) => ({ role, calls: callsFor(role, callers) }));
  const calls = roles.flatMap((one) => one.calls);
  const all = new Set([...callers.callers, ...calls.flatMap((call) => call.callers)]);
  return {
    roles: roles.map(({ role, calls: own }) => rolePlan(role, own, existing)),
    callers: Array.from(all, (caller) => callerPlan(caller, calls.filter((call) => call.callers.includes(caller)))),
  };
}

function rolePlan(needs: RoleNeeds, calls: readonly NeededCall[], existing: Existing | null): RolePlan {
  const { role, selectors, others } = needs;
  const trustPolicy = neededTrustPolicyOf(calls);
  const namesOf = (kind: RoleTarget["kind"]): string[] => (
    others.filter((one) => one.kind === kind).map(({ name }) => name).toSorted(compareText)
  );
  const [identities, maps] = [namesOf("identity"), namesOf("map")];
  return {
    role, selectors: selectors.map(({ name }) => name).toSorted(compareText),
    ...(identities.length > 0 && { identities }), ...(maps.length > 0 && { maps }), trustPolicy,
    characters: sizeOf(trustPolicy), warnings: trustSizeWarnings(trustPolicy),
    permissions: permissionsFor(selectors),
    ...(existing !== null && { difference: differenceOf(role, calls, trustPolicy, existing) }),
  };
}

function callerPlan(caller: string, calls: readonly NeededCall[]): CallerPlan {
  const policy = neededCallerPolicy(caller, calls);
  if (policy === null) return { caller, policy, characters: 0, warnings: [] };
  return { caller, policy, characters: sizeOf(policy), warnings: callerSizeWarnings(policy) };
}

function differenceOf(
  role: string, calls: readonly NeededCall[], trustPolicy: NeededPolicy, existing: Existing,
): RoleDifference {
  const trust = existing.data.role(role)?.trust ?? null;
  const difference = trust === null ? { add: trustPolicy.Statement, remove: [] } : differenceTo(trustPolicy, trust);
  const callers = new Map<string, Answer[]>();
  for (const call of calls) {
    for (const caller of call.callers) {
      callers.set(caller, [...callers.get(caller) ?? [], isAllowed(caller, call, trustPolicy, existing)]);
    }
  }
  return { ...difference, callers: Array.from(callers, ([caller, answers]) => ({ caller, allowed: worst(answers) })) };
}

function worst(answers: readonly Answer[]): Answer {
  return answers.includes("no") ? "no" : answers.includes("unknown") ? "unknown" : "yes";
}

/** Whether a caller can make a call if the role has the trust policy. */
export function isAllowed(name: string, call: NeededCall, trustPolicy: NeededPolicy, existing: Existing): Answer {
  const { role, addedTagKeys, externalID, sessionName, sourceIdentity } = call;
  const tags = new Map(call.tags.map(({ key, values: [value = ""] }) => [key, value.replaceAll("*", "x")]));
  const sent = { externalID, sessionName, sourceIdentity, tags };
  return decideWithTrust(name, { role, trustPolicy, sent, addedTagKeys }, existing);
}

/** Whether a policy fits no quota, or an export differs. */
export function isOpen({ roles, callers }: PolicyPlan): boolean {
  const differs = roles.some(({ difference: one }) => one !== undefined && (
    one.add.length > 0 || one.remove.length > 0 || one.callers.some(({ allowed }) => allowed !== "yes")
  ));
  const { trustQuota, inline } = POLICY_SIZES;
  return differs || roles.some(({ characters }) => characters > trustQuota)
    || callers.some(({ characters }) => characters > inline);
}

/** Returns the resources of the plan, for Terraform and CloudFormation. */
export function resourcesOf({ roles, callers }: PolicyPlan): PolicyResource[] {
  return [
    ...roles.map((plan): PolicyResource => ({
      kind: "role", arn: plan.role, policy: plan.trustPolicy,
      remarks: [...namerLines(plan), ...plan.warnings, ...permissionLines(plan.permissions)],
    })),
    ...callers.flatMap(({ caller, policy, warnings }): PolicyResource[] => (
      policy === null ? [] : [{ kind: "caller", arn: caller, policy, remarks: warnings }]
    )),
  ];
}

/** Returns what names a role, as comments. */
function namerLines({ selectors, identities = [], maps = [] }: RolePlan): string[] {
  const lists = { selectors, identities, "CARM maps": maps };
  return Object.entries(lists).flatMap(([title, names]) => (names.length === 0 ? [] : `${title}: ${names.join(", ")}`));
}

/** Returns the roles that a caller cannot assume, because they are in another partition. */
export function foreignRoles(needs: readonly RoleNeeds[], callers: NeededCallers): string[] {
  return needs.flatMap((one) => callsFor(one, callers)).filter((call) => (
    call.callers.some((caller) => parseARN(caller)?.partition !== parseARN(call.role)?.partition)
  )).map(({ role }) => role);
}

/** What ACK recommends for the kinds of an API group. */
interface KindPermissions {
  readonly group: string;
  /** Empty if the selector selects all kinds of the group. */
  readonly kinds: readonly string[];
  /** The ARN of the policy that AWS manages. */
  readonly managedPolicy: string | null;
  /** The address of an inline policy in the controller's repository. */
  readonly inlinePolicy: string | null;
  /** Actions that these policies are known to lack. */
  readonly missing: readonly string[];
  readonly warning: string;
}

const BROAD = "the recommended policies allow far more than most teams need, and are not complete: "
  + "kinds that name a role need iam:PassRole, and encrypted kinds actions of KMS";
const NONE = "no recommended policy is known; read the source of the controller";

/** Returns the recommendations for the kinds that selectors name, sorted by group. */
export function permissionsFor(selectors: readonly EffectiveSelector[]): KindPermissions[] {
  const entries = selectors.flatMap(({ types }) => types?.entries ?? []).filter(({ group }) => group !== "");
  const groups = [...new Set(entries.map(({ group }) => group))].toSorted(compareText);
  const partition = parseARN(selectors[0]?.roleARN ?? "")?.partition ?? "aws";
  return groups.map((group) => {
    const kinds = new Set(entries.filter((one) => one.group === group).map(({ kind }) => kind));
    return permissionsOf(group, kinds.has("") ? [] : [...kinds].toSorted(compareText), partition);
  });
}

function permissionsOf(group: string, kinds: readonly string[], partition: string): KindPermissions {
  const service = serviceOf(group);
  const found = recommendedPolicy(service);
  const { managed, inline } = found ?? { managed: null, inline: false };
  const missing = Object.entries(KNOWN_MISSING).flatMap(([key, actions]) => {
    const [of, kind = ""] = key.split("/");
    return of === service && (kinds.length === 0 || kinds.includes(kind)) ? actions : [];
  });
  return {
    group, kinds, missing: missing.toSorted(compareText), warning: found === null ? NONE : BROAD,
    managedPolicy: managed === null ? null : `arn:${partition}:iam::aws:policy/${managed}`,
    inlinePolicy: inline ? inlinePolicyURL(service) : null,
  };
}

/** Returns the recommendations as lines, for comments. */
export function permissionLines(permissions: readonly KindPermissions[]): string[] {
  return permissions.flatMap(({ group, kinds, managedPolicy, inlinePolicy, missing, warning }) => {
    const policies = [managedPolicy ?? [], inlinePolicy ?? []].flat();
    return [
      `permissions for ${group}${kinds.length === 0 ? "" : ` (${kinds.join(", ")})`}:`,
      ...policies.map((policy) => `  ACK recommends ${policy}`),
      ...(missing.length === 0 ? [] : [`  known to lack ${missing.join(", ")}`]), `  ${warning}`,
    ];
  });
}
