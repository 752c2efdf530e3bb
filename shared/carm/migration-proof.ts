import { resolve } from "../core/resolve.ts";
import type { Resolution } from "../core/resolution.ts";
import { RESOURCES } from "../ack/resources.ts";
import { lookUpMaps, type MapLookup } from "./carm-maps.ts";
import type { DecisionSettings } from "../core/context.ts";
import type { ACKResource, ResourceQuery } from "../core/ack-resource.ts";
import { apiVersionOf } from "../formats/object-meta.ts";
import { compareText } from "../formats/text.ts";
import { type Paced, paced } from "../formats/paced.ts";
import type { TypeEntry } from "../core/resource-types.ts";
import { type MigrationInput, sampleResource, UNKNOWN_GROUP } from "./migration-keys.ts";
import { describeDifference, type Difference, type Side } from "./migration-difference.ts";

/**
 * The result of a comparison of the roles before and after the switch. The comparison covers every resource and every
 * pair of namespace and kind.
 */
export interface FullProof {
  /** The number of compared resources. */
  readonly resources: number;
  /** The number of compared pairs of namespace and kind, including an unknown kind and an unknown namespace. */
  readonly pairs: number;
  /** Sorted by namespace. */
  readonly differences: readonly Difference[];
  /**
   * The sorted names of the namespaces in which CARM and selectors resolve an unknown group differently, but resolve
   * all known groups equally. A selector cannot list unknown groups.
   */
  readonly unknownGroups: readonly string[];
}

/** A difference to which the comparison still adds groups and resources. */
interface PendingDifference {
  readonly first: ResourceQuery;
  readonly before: Side;
  readonly after: Side;
  readonly reason: string;
  readonly groups: Set<string>;
  readonly resources: ACKResource[];
}

/**
 * Compares the roles from the CARM maps with the roles from the selectors in the inventory. Compares every resource,
 * and one hypothetical resource of every kind in every namespace. The kinds include an unknown kind of every group, and
 * the namespaces include an unknown namespace. Pauses after each namespace.
 */
export function* proveSelectors(input: MigrationInput): Paced<FullProof> {
  const { inventory, groups } = input;
  const comparison = new Comparison(input);
  const kinds = [...inventory.kinds.installedTypes(), ...groups.map((group) => ({ group, version: "", kind: "" }))];
  const namespaces = [...inventory.namespaces.names, unknownNamespace(input)];
  const unknownGroups: string[] = [];
  yield* paced(namespaces, 1, (namespace) => {
    for (const kind of kinds) comparison.addPair(namespace, kind);
    if (comparison.isNewDifference(sampleResource(namespace, UNKNOWN_GROUP))) unknownGroups.push(namespace);
    return true;
  });
  for (const resource of inventory.of(RESOURCES).all()) comparison.addResource(resource);
  return {
    resources: inventory.of(RESOURCES).size,
    pairs: namespaces.length * (kinds.length + 1),
    differences: comparison.differences(),
    unknownGroups: unknownGroups.toSorted(compareText),
  };
}

class Comparison {
  readonly #input: MigrationInput;
  readonly #after: DecisionSettings;
  readonly #pending = new Map<string, PendingDifference>();

  constructor(input: MigrationInput) {
    this.#input = input;
    this.#after = { ...input.settings, mode: "selectors" };
  }

  addPair(namespace: string, type: TypeEntry): void {
    this.#add(sampleResource(namespace, type.group, type))?.groups.add(type.group);
  }

  addResource(resource: ACKResource): void {
    this.#add(resource)?.resources.push(resource);
  }

  /**
   * Whether CARM and selectors resolve the resource differently, and the comparison has not recorded this difference
   * yet.
   */
  isNewDifference(query: ResourceQuery): boolean {
    const found = this.#compare(query);
    return found !== null && !this.#pending.has(found.id);
  }

  differences(): Difference[] {
    return [...this.#pending.values()]
      .map((pending) => differenceOf(pending, this.#input))
      .toSorted((a, b) => compareText(a.namespace, b.namespace));
  }

  #add(query: ResourceQuery): PendingDifference | null {
    const found = this.#compare(query);
    if (found === null) return null;
    const pending = this.#pending.get(found.id) ?? { first: query, ...found, groups: new Set(), resources: [] };
    this.#pending.set(found.id, pending);
    return pending;
  }

  /** Compares the resolutions with CARM and with selectors. Returns null if the resolutions are equal. */
  #compare(
    query: ResourceQuery,
  ): (Pick<PendingDifference, "before" | "after" | "reason"> & { readonly id: string }) | null {
    const { inventory, settings } = this.#input;
    const lookup = lookUpMaps(inventory, query, settings);
    const [before, after] = [mapSide(lookup, settings), sideOf(resolve(inventory, query, this.#after))];
    if (isSame(before, after)) return null;
    const reason = lookup !== null && lookup.code !== null ? lookup.message : "";
    const sides = { before, after };
    return { ...sides, reason, id: JSON.stringify([query.namespace, sides, reason]) };
  }
}

/**
 * Whether two resolutions are equal. Two resolutions without a role are never equal: with CARM, controllers do not
 * reconcile the resource, but without a selector, controllers use their own role.
 */
function isSame(before: Side, after: Side): boolean {
  const hasRole = before.outcome === "selected" || before.outcome === "default";
  return hasRole && before.outcome === after.outcome && before.roleARN === after.roleARN;
}

/**
 * Returns the role that the controllers take from the maps, also where a sidecar would refuse it: before the migration,
 * a cluster may have none.
 */
function mapSide(lookup: MapLookup | null, { controllerRole }: DecisionSettings): Side {
  if (lookup === null) return { outcome: "default", via: null, roleARN: controllerRole, code: null };
  const { via, roleARN, code } = lookup;
  return { outcome: code === null ? "selected" : "refused", via, roleARN, code };
}

function sideOf({ outcome, via, roleARN, code }: Resolution): Side {
  return { outcome, via, roleARN, code };
}

function differenceOf(
  { first, before, after, reason, groups, resources }: PendingDifference, { groups: all }: MigrationInput,
): Difference {
  const difference = {
    namespace: first.namespace,
    groups: groups.size === all.length ? ["*"] : [...groups].toSorted(compareText),
    before,
    after,
    resources: resources.map((resource) => ({
      apiVersion: apiVersionOf(resource),
      kind: resource.kind,
      namespace: resource.namespace,
      name: String(resource.name),
    })),
  };
  const { ownerAccountID } = first.status;
  return { ...difference, ...describeDifference({ difference, reason, ownerAccountID }) };
}

/** Returns a namespace name that no Namespace and no resource in the inventory has. */
function unknownNamespace({ inventory }: MigrationInput): string {
  let name = "no-such-namespace";
  while (inventory.namespaces.has(name) || inventory.of(RESOURCES).inNamespace(name).size > 0) name += "-x";
  return name;
}
