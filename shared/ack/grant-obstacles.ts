import { SELECTORS } from "./selectors.ts";
import type { Inventory } from "../core/inventory.ts";
import type { Labels } from "../formats/label-selector.ts";
import { candidateNamespaces } from "./change-set.ts";
import { type EffectiveSelector, selectsNamespace, selectsWithinNamespace } from "../core/effective-selector.ts";
import { canBeSatisfied } from "./selector-overlap.ts";
import type { TypeEntry } from "../core/resource-types.ts";
import type { RoleQuery } from "../core/grant.ts";
import { missingKindOf, selectedTypes, type Steps } from "./grant-types.ts";

/** The reason why no resource can resolve to a selector. */
export type Obstacle =
  /** The selector selects no requested kind, no existing namespace, or no resource, whatever its labels are. */
  | { readonly reason: "kinds" } | { readonly reason: "namespaces" } | { readonly reason: "labels" }
  /** The selector selects no requested kind that exists. `kind` does not exist. */
  | { readonly reason: "missing kind"; readonly kind: Pick<TypeEntry, "group" | "kind"> }
  /**
   * Other selectors also select each resource that the selector selects. `rivals` contains one of them, which selects
   * resources in the namespace.
   */
  | { readonly reason: "conflict"; readonly namespace: string; readonly rivals: readonly EffectiveSelector[] };

/** A resource that a selector selects, and that has no labels but those that the selector requires. */
interface Example {
  readonly type: TypeEntry;
  readonly labels: Labels;
}

/**
 * Finds out whether a resource can resolve to a selector: a resource of a requested kind in an existing namespace, or
 * in the namespace of the scope, with any labels. Caches results for one decision, which can ask for many selectors.
 */
export class ObstacleSearch {
  readonly #inventory: Inventory;
  readonly #query: RoleQuery;
  readonly #steps: Steps;
  readonly #found = new Map<EffectiveSelector, Obstacle | null>();
  /** The last rival, or []. It is often the rival of the next selector too, for example if it selects everything. */
  #rivals: readonly EffectiveSelector[] = [];

  constructor(inventory: Inventory, query: RoleQuery, steps: Steps) {
    this.#inventory = inventory;
    this.#query = query;
    this.#steps = steps;
  }

  /** Returns null if a resource can resolve to the selector. */
  obstacleOf(selector: EffectiveSelector): Obstacle | null {
    const found = this.#found.get(selector);
    const obstacle = found === undefined ? this.#search(selector) : found;
    this.#found.set(selector, obstacle);
    return obstacle;
  }

  #search(selector: EffectiveSelector): Obstacle | null {
    const { resourceLabels } = selector;
    this.#steps.take();
    const types = [...selectedTypes(this.#inventory, selector, this.#query, this.#steps)];
    if (types.length === 0) return this.#withoutKinds(selector);
    if (resourceLabels !== null && !canBeSatisfied(resourceLabels)) return { reason: "labels" };
    // With --runtime ack, a label selector has no expressions, so any other label can only add a conflict.
    const labels = new Map(resourceLabels?.matchLabels);
    return this.#searchNamespaces(selector, types.map((type) => ({ type, labels })));
  }

  #withoutKinds(selector: EffectiveSelector): Obstacle {
    const kind = missingKindOf(this.#inventory, selector, this.#query);
    return kind === null ? { reason: "kinds" } : { reason: "missing kind", kind };
  }

  /**
   * Searches an existing namespace in which only the selector selects one of the examples. With --runtime extended,
   * others can select it too, because the annotation `use-selector` of a resource picks one of them.
   */
  #searchNamespaces(selector: EffectiveSelector, examples: readonly Example[]): Obstacle | null {
    const isExtended = this.#inventory.runtime === "extended";
    // A selector that has no namespace restriction conflicts in each namespace.
    const free = examples.filter((one) => isExtended || !this.#hasRival(selector, one, this.#clusterWide(one)));
    let obstacle: Obstacle = { reason: "namespaces" };
    for (const namespace of this.#namespacesOf(selector)) {
      const resolves = free.some((one) => isExtended || !this.#hasRival(selector, one, this.#within(namespace, one)));
      if (resolves) return null;
      obstacle = { reason: "conflict", namespace, rivals: this.#rivals };
      if (free.length === 0) return obstacle;
    }
    return obstacle;
  }

  #hasRival(selector: EffectiveSelector, { type, labels }: Example, others: Iterable<EffectiveSelector>): boolean {
    for (const other of others) {
      this.#steps.take();
      if (other === selector || !selectsWithinNamespace(other, type, labels)) continue;
      this.#rivals = [other];
      return true;
    }
    return false;
  }

  *#clusterWide({ type, labels }: Example): Iterable<EffectiveSelector> {
    for (const selectors of this.#inventory.of(SELECTORS).clusterWide(type.group, labels)) yield* selectors;
  }

  /** Yields every selector with a namespace restriction that selects the example, and possibly others. */
  *#within(namespace: string, { labels }: Example): Iterable<EffectiveSelector> {
    const { namespaces } = this.#inventory;
    const selectors = this.#inventory.of(SELECTORS);
    const namespaceLabels = namespaces.labelsOf(namespace);
    for (const last of this.#rivals) if (selectsNamespace(last, namespace, namespaceLabels)) yield last;
    yield* selectors.inNamespaceFor(namespace, labels);
  }

  /** Yields the existing namespaces that the selector selects. */
  *#namespacesOf(selector: EffectiveSelector): Iterable<string> {
    const { namespaces } = this.#inventory;
    const stepsEach = 1 + requirementsOf(selector);
    for (const name of this.#candidates(selector)) {
      this.#steps.take(stepsEach);
      if (selectsNamespace(selector, name, namespaces.labelsOf(name))) yield name;
    }
  }

  /**
   * Yields the existing namespaces that the selector can select, and possibly others. Manifests that contain no
   * Namespace do not define which namespaces exist. As in `resolve`, every namespace then exists, without labels.
   */
  *#candidates(selector: EffectiveSelector): Iterable<string> {
    const { namespaces, origin } = this.#inventory;
    const isUnknown = origin === "file" && namespaces.size === 0;
    const { scope } = this.#query;
    const all = scope === null ? candidateNamespaces(this.#inventory, selector) : [scope];
    for (const name of all ?? (isUnknown ? possibleNames(selector) : namespaces.names)) {
      if (namespaces.has(name) || (isUnknown && name !== "")) yield name;
      else this.#steps.take();
    }
  }
}

/**
 * Returns names that the expressions of the selector can distinguish, if it requires no label. The first stands for a
 * namespace that no selector names, because it is too long for a namespace and for the value of a label.
 */
function possibleNames({ namespaceLabels }: EffectiveSelector): string[] {
  return ["x".repeat(64), ...(namespaceLabels?.matchExpressions ?? []).flatMap(({ values }) => values)];
}

function requirementsOf({ namespaceLabels }: EffectiveSelector): number {
  return (namespaceLabels?.matchLabels.length ?? 0) + (namespaceLabels?.matchExpressions.length ?? 0);
}
