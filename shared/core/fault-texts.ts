import { type ACKResource, resourceName } from "./ack-resource.ts";
import type { FieldPath } from "../formats/json.ts";
import type { LabelSelectorSpec } from "../formats/label-selector.ts";
import { NAME_LABEL } from "../formats/names.ts";
import { countOf, printable, quote, sortedListOf } from "../formats/text.ts";
import type { Inventory } from "./inventory.ts";
import type { Fault } from "./check.ts";

/**
 * A check that denies stops its scan when it has found this number of resources. The message then contains "at least
 * 20".
 */
export const SCAN_LIMIT = 20;

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

/** Returns the message for a name that is not a namespace of the input but is similar to one; null for other names. */
export function misspelledNamespace({ namespaces }: Pick<Inventory, "namespaces">, name: string): string | null {
  const [meant] = namespaces.has(name) ? [] : namespaces.misspelledBy(name);
  return meant === undefined
    ? null : `namespace ${quote(name)} is not in the input; perhaps ${printable(meant)} was meant`;
}

/** Yields a fault for each label of a namespace that the selector reads and that tenants may set. */
export function* tenantLabelFaults(
  { matchLabels, matchExpressions }: LabelSelectorSpec, path: FieldPath, tenantLabels: readonly string[],
): Iterable<Fault> {
  const keys: (readonly [path: FieldPath, key: string])[] = [
    ...Array.from(matchLabels.keys(), (key) => [["matchLabels", { key }], key] as const),
    ...matchExpressions.map(({ key }, i) => [["matchExpressions", i, "key"], key] as const),
  ];
  for (const [at, key] of keys) {
    if (key === NAME_LABEL || !tenantLabels.includes(key)) continue;
    yield { path: [...path, ...at], message: `tenants can set the label ${quote(key)} on their namespaces` };
  }
}
