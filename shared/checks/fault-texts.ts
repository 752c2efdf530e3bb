import type { ACKResource } from "../contract/ack-resource.ts";
import { annotationPath, type FieldPath } from "../formats/json.ts";
import { compareText, countOf, listOf, printable, sortedListOf } from "../formats/text.ts";
import { accountOfResource, resourceName, type Transition } from "../resolution/change-set.ts";
import type { Fault } from "./check.ts";
import { USE_SELECTOR_ANNOTATION } from "../contract/annotation-keys.ts";
import { identityKindOf, identityPlural, INFRASTRUCTURE_GROUP } from "../contract/capa-kinds.ts";
import type { IdentityReference } from "../model/identity.ts";

/**
 * A check that denies stops its scan when it has found this number of resources. The message then contains "at least
 * 20".
 */
export const SCAN_LIMIT = 20;

/** The resources on which a change has the same effect. */
export interface Hits {
  /** The number of resources that the scan has found. */
  readonly found: number;
  /** The first resources that the scan found, at most `SCAN_LIMIT`. */
  readonly first: readonly Transition[];
}

/**
 * Returns `2 resources EFFECT: Bucket team-a/b1 in account 111122223333 and Bucket team-a/b2`, sorted. `itemOf` returns
 * the text of one resource. Default: the resource and its account before the change.
 */
export function listHits({ found, first }: Hits, effect: string, itemOf = itemBefore): string {
  const items = listOf(first.map(itemOf).toSorted(compareText), found, SCAN_LIMIT);
  return `${countOf(found, "resource", SCAN_LIMIT)} ${effect}: ${items}`;
}

function itemBefore(transition: Transition): string {
  return resourceInAccount(transition.resource, accountOfResource(transition));
}

/** Returns `Bucket team-a/b1 in account 111122223333`, or `Bucket team-a/b1` if the account is unknown. */
export function resourceInAccount(resource: ACKResource, account: string | null): string {
  return account === null ? resourceName(resource) : `${resourceName(resource)} in account ${account}`;
}

/**
 * Returns a sentence that ends with the resources: `the change stops 2 resources: Bucket team-a/b1 and ...`.
 * If the scan stopped early (`isPartial`), the count is "at least 2 resources".
 */
export function listResources(
  resources: readonly ACKResource[], sentenceFor: (count: string) => string, isPartial = false,
): string {
  const sentence = sentenceFor(countText(resources.length, "resource", isPartial));
  return `${sentence}: ${sortedListOf(resources.map(resourceName))}`;
}

/** Returns `2 namespaces: team-a and team-b`. If `isPartial`, the count is "at least 2 namespaces". */
export function listNamespaces(names: readonly string[], isPartial: boolean): string {
  return `${countText(names.length, "namespace", isPartial)}: ${sortedListOf(names)}`;
}

function countText(number: number, noun: string, isPartial: boolean): string {
  return isPartial ? `at least ${countOf(number, noun)}` : countOf(number, noun);
}

/** An effect of a namespace change on resources. */
export interface Effect {
  /** Returns the message for a count such as `2 resources`. Effects with equal messages are reported as one effect. */
  readonly messageFor: (count: string) => string;
  /** Returns the fix for the resources. Default: the fix of the check. */
  readonly fixFor?: (resources: readonly ACKResource[]) => string;
  /** Whether the fault for the effect is only a warning. */
  readonly isHarmless?: true;
}

/** The resources that a change of a namespace affects, grouped by effect. */
export class AffectedResources {
  readonly #groups = new Map<string, { readonly effect: Effect; readonly resources: ACKResource[] }>();
  #harmed = 0;

  add(resource: ACKResource, effect: Effect): void {
    const key = effect.messageFor("");
    const group = this.#groups.get(key) ?? { effect, resources: [] };
    group.resources.push(resource);
    this.#groups.set(key, group);
    if (effect.isHarmless !== true) this.#harmed++;
  }

  /** Whether the scan can stop because `SCAN_LIMIT` resources have an effect that is not harmless. */
  get isFull(): boolean {
    return this.#harmed >= SCAN_LIMIT;
  }

  /** Returns one fault for each effect. */
  faults(path: FieldPath): Fault[] {
    return Array.from(this.#groups.values(), ({ effect, resources }) => {
      const { messageFor, fixFor, isHarmless } = effect;
      // Escapes control characters, because the account ID in a status or an ARN can be any text.
      const message = printable(listResources(resources, messageFor, this.isFull));
      const fix = fixFor === undefined ? {} : { fix: printable(fixFor(resources)) };
      return { path, message, ...fix, ...(isHarmless === true && { severity: "warn" as const }) };
    });
  }
}

/** Describes, for messages, the changed fields of a resource or namespace that change a role. */
export interface RoleCause {
  /** A plural subject: `the new labels`. */
  readonly subject: string;
  readonly path: FieldPath;
  /** The changed fields, for a fix: `the labels that selectors match`. */
  readonly inputs: string;
  /** Whether the annotation `use-selector` changes. */
  readonly isRechosen: boolean;
}

export const CHOICE_PATH = annotationPath(USE_SELECTOR_ANNOTATION);

const LABEL_INPUTS = "the labels that selectors match";
const CHOICE = `the annotation ${USE_SELECTOR_ANNOTATION}`;

/** Returns the cause if the labels or the annotation `use-selector` change, or else null. */
export function roleCause(isRelabeled: boolean, isRechosen: boolean): RoleCause | null {
  if (isRelabeled && isRechosen) {
    const inputs = `${LABEL_INPUTS} and ${CHOICE}`;
    return { subject: "the new labels and annotations", path: ["metadata"], inputs, isRechosen };
  }
  if (isRechosen) return { subject: "the new annotations", path: CHOICE_PATH, inputs: CHOICE, isRechosen };
  if (!isRelabeled) return null;
  return { subject: "the new labels", path: ["metadata", "labels"], inputs: LABEL_INPUTS, isRechosen };
}

/** Returns whether the labels are equal. */
export function isSameLabels(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);
}

/** Returns the RBAC rule that permits the use of the selector. */
export function selectorUseRule(selector: string): string {
  return `apiGroups: [services.k8s.aws], resources: [iamroleselectors], resourceNames: [${selector}], verbs: [use]`;
}

/** Returns a fix that grants the RBAC rule to the requester in the namespace. */
export function useFix(rule: string, namespace: string): string {
  return `create a Role in namespace ${namespace} with the rule ${rule}, `
    + "and a RoleBinding in that namespace that grants it to the requester";
}

/** Returns a fix that grants the RBAC rule to the requester in every namespace, also in one that does not exist yet. */
export function useEverywhereFix(rule: string): string {
  return `create a ClusterRole with the rule ${rule}, `
    + "and a ClusterRoleBinding that grants it to the requester";
}

/** Returns the RBAC rule that permits the use of the identity. Null stands for any identity. */
export function identityUseRule(reference: IdentityReference | null): string {
  const kind = reference === null ? null : identityKindOf(reference.kind);
  const resources = kind === null ? "KINDS" : identityPlural(kind);
  const name = reference?.name ?? "NAME";
  return `apiGroups: [${INFRASTRUCTURE_GROUP}], resources: [${resources}], resourceNames: [${name}], verbs: [use]`;
}
