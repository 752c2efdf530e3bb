import { parseARN } from "../formats/arn.ts";
import { compareText } from "../formats/text.ts";
import type { EffectiveSelector } from "../model/effective-selector.ts";
import { decideWithTrust, type Existing } from "./decide-with-trust.ts";
import { type KindPermissions, permissionLines, permissionsFor } from "./kind-permissions.ts";
import { type NeededCall, neededCall, type NeededCallers } from "./needed-call.ts";
import {
  callerSizeWarnings, neededCallerPolicy, type NeededPolicy, neededTrustPolicy, POLICY_SIZES, sizeOf, trustSizeWarnings,
} from "./needed-policies.ts";
import { differenceTo, type PolicyDifference } from "./policy-comparison.ts";
import type { PolicyResource } from "./policy-formats.ts";
import type { Answer } from "./three-values.ts";

/** The selectors of one role, with the same session settings. */
export type SelectorsOfRole = readonly [EffectiveSelector, ...EffectiveSelector[]];

interface Plan {
  /** The number of characters without white space. */
  readonly characters: number;
  readonly warnings: readonly string[];
}

/** What a role needs, in the format of `-o json`. */
export interface RolePlan extends Plan {
  readonly role: string;
  readonly selectors: readonly string[];
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
  groups: readonly SelectorsOfRole[], callers: NeededCallers, existing: Existing | null,
): PolicyPlan {
  const calls = groups.map((selectors) => ({ selectors, call: neededCall(selectors, callers) }));
  return {
    roles: calls.map(({ selectors, call }) => rolePlan(selectors, call, existing)),
    callers: callers.callers.map((caller) => callerPlan(caller, calls.map(({ call }) => call))),
  };
}

function rolePlan(selectors: SelectorsOfRole, call: NeededCall, existing: Existing | null): RolePlan {
  const trustPolicy = neededTrustPolicy(call);
  return {
    role: call.role, selectors: selectors.map(({ name }) => name).toSorted(compareText), trustPolicy,
    characters: sizeOf(trustPolicy), warnings: trustSizeWarnings(trustPolicy),
    permissions: permissionsFor(selectors),
    ...(existing !== null && { difference: differenceOf(call, trustPolicy, existing) }),
  };
}

function callerPlan(caller: string, calls: readonly NeededCall[]): CallerPlan {
  const policy = neededCallerPolicy(caller, calls);
  if (policy === null) return { caller, policy, characters: 0, warnings: [] };
  return { caller, policy, characters: sizeOf(policy), warnings: callerSizeWarnings(policy) };
}

function differenceOf(call: NeededCall, trustPolicy: NeededPolicy, existing: Existing): RoleDifference {
  const trust = existing.data.role(call.role)?.trust ?? null;
  const difference = trust === null ? { add: trustPolicy.Statement, remove: [] } : differenceTo(trustPolicy, trust);
  const callers = call.callers.map((caller) => ({ caller, allowed: isAllowed(caller, call, trustPolicy, existing) }));
  return { ...difference, callers };
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
    ...roles.map(({ role, trustPolicy, warnings, permissions, selectors }): PolicyResource => ({
      kind: "role", arn: role, policy: trustPolicy,
      remarks: [`selectors: ${selectors.join(", ")}`, ...warnings, ...permissionLines(permissions)],
    })),
    ...callers.flatMap(({ caller, policy, warnings }): PolicyResource[] => (
      policy === null ? [] : [{ kind: "caller", arn: caller, policy, remarks: warnings }]
    )),
  ];
}

/** Returns the roles that no caller can assume, because they are in another partition. */
export function foreignRoles(groups: readonly SelectorsOfRole[], callers: readonly string[]): string[] {
  const partitions = new Set(callers.map((caller) => parseARN(caller)?.partition));
  return groups.map(([{ roleARN }]) => roleARN).filter((role) => {
    const own = parseARN(role)?.partition;
    return [...partitions].some((partition) => partition !== own);
  });
}
