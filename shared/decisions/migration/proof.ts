import { lookUpMaps } from "../carm/maps.ts";
import type { DecisionSettings } from "../context.ts";
import type { ACKResource, ResourceQuery } from "../kubernetes/ack-resource.ts";
import { apiVersionOf } from "../kubernetes/object-meta.ts";
import { compareText, printable } from "../kubernetes/text.ts";
import { type Paced, paced } from "../paced.ts";
import { type Resolution, resolve } from "../resolution/resolve.ts";
import type { TypeEntry } from "../selectors/type-entry.ts";
import { anyResource, type MigrationInput, UNKNOWN_GROUP } from "./carm-keys.ts";
import { type Difference, explain, type Side } from "./difference.ts";

export interface Proof {
  /** How many resources were compared. */
  readonly resources: number;
  /** How many pairs of a namespace and a kind were compared, those that nobody names yet included. */
  readonly pairs: number;
  /** Sorted by namespace. */
  readonly differences: readonly Difference[];
}

export interface WholeProof extends Proof {
  /** The namespaces where a group that nobody knows yet would differ, though every known one is the same: no list can name it. Sorted. */
  readonly unknownGroups: readonly string[];
}

/** A difference while what differs is gathered. */
interface Gathered {
  readonly first: ResourceQuery;
  readonly before: Side;
  readonly after: Side;
  readonly reason: string;
  readonly groups: Set<string>;
  readonly resources: ACKResource[];
}

/**
 * Compares what the maps give with what the inventory's selectors give: for every resource there is, and for one of every kind
 * in every namespace, of a kind that nobody names in every group, and in a namespace that nobody names. A step is a namespace.
 */
export function* proveSelectors(input: MigrationInput): Paced<WholeProof> {
  const { inventory, groups } = input;
  const comparison = new Comparison(input);
  const kinds = [...inventory.installedTypes(), ...groups.map((group) => ({ group, version: "", kind: "" }))];
  const namespaces = [...inventory.namespaceNames, namespaceOfNone(input)];
  const unknownGroups: string[] = [];
  yield* paced(namespaces, 1, (namespace) => {
    for (const kind of kinds) comparison.pair(namespace, kind);
    if (comparison.isNews(anyResource(namespace, UNKNOWN_GROUP))) unknownGroups.push(namespace);
    return true;
  });
  for (const resource of inventory.resources.all()) comparison.resource(resource);
  return {
    resources: inventory.resources.size, pairs: namespaces.length * (kinds.length + 1), differences: comparison.differences(),
    unknownGroups: unknownGroups.toSorted(compareText),
  };
}

class Comparison {
  readonly #input: MigrationInput;
  readonly #before: DecisionSettings;
  readonly #after: DecisionSettings;
  readonly #gathered = new Map<string, Gathered>();

  constructor(input: MigrationInput) {
    this.#input = input;
    this.#before = { ...input.settings, mode: "carm" };
    this.#after = { ...input.settings, mode: "selectors" };
  }

  pair(namespace: string, type: TypeEntry): void {
    this.#gather(anyResource(namespace, type.group, type))?.groups.add(type.group);
  }

  resource(resource: ACKResource): void {
    this.#gather(resource)?.resources.push(resource);
  }

  /** Whether it differs otherwise than anything compared so far. */
  isNews(query: ResourceQuery): boolean {
    const found = this.#compare(query);
    return found !== null && !this.#gathered.has(found.id);
  }

  differences(): Difference[] {
    return [...this.#gathered.values()].map((one) => differenceOf(one, this.#input)).toSorted((a, b) => compareText(a.namespace, b.namespace));
  }

  #gather(query: ResourceQuery): Gathered | null {
    const found = this.#compare(query);
    if (found === null) return null;
    const gathered = this.#gathered.get(found.id) ?? { first: query, ...found, groups: new Set(), resources: [] };
    this.#gathered.set(found.id, gathered);
    return gathered;
  }

  /** Null where both sides are the same. */
  #compare(query: ResourceQuery): Pick<Gathered, "before" | "after" | "reason"> & { readonly id: string } | null {
    const { inventory, settings } = this.#input;
    const [before, after] = [resolve(inventory, query, this.#before), resolve(inventory, query, this.#after)];
    if (isSame(before, after)) return null;
    const answer = lookUpMaps(inventory, query, settings);
    const reason = answer !== null && answer.code !== null ? printable(answer.message) : "";
    const sides = { before: sideOf(before), after: sideOf(after) };
    return { ...sides, reason, id: JSON.stringify([query.namespace, sides, reason]) };
  }
}

/** Only a role that stays, and no role that stays none: what is refused is in nobody's hands, and would be in the controller's. */
function isSame(before: Resolution, after: Resolution): boolean {
  return before.outcome === after.outcome && before.roleARN === after.roleARN && (before.outcome === "selected" || before.outcome === "default");
}

function sideOf({ outcome, via, roleARN, code }: Resolution): Side {
  return { outcome, via, roleARN, code };
}

function differenceOf({ first, before, after, reason, groups, resources }: Gathered, { groups: all }: MigrationInput): Difference {
  const sorted = groups.size === all.length ? ["*"] : [...groups].toSorted(compareText);
  const difference = {
    namespace: first.namespace, groups: sorted, before, after,
    resources: resources.map((one) => ({ apiVersion: apiVersionOf(one), kind: one.kind, namespace: one.namespace, name: String(one.name) })),
  };
  return { ...difference, ...explain({ difference, reason, ownerAccountID: first.status.ownerAccountID }) };
}

/** The name of a namespace that is not there. */
function namespaceOfNone({ inventory }: MigrationInput): string {
  let name = "no-such-namespace";
  while (inventory.hasNamespace(name) || inventory.resources.inNamespace(name).size > 0) name += "-x";
  return name;
}
