import { serviceOf } from "../core/ack-groups.ts";
import { inlinePolicyURL, KNOWN_MISSING, recommendedPolicy } from "../core/ack-policies.ts";
import { parseARN } from "../formats/arn.ts";
import { compareText } from "../formats/text.ts";
import type { EffectiveSelector } from "../core/effective-selector.ts";

/** What ACK recommends for the kinds of an API group. */
export interface KindPermissions {
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
