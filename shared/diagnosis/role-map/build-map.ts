import { resolve } from "../../core/resolve.ts";
import { controllerAccountOf, type Resolution } from "../../core/resolution.ts";
import { SEPARATE_STORES } from "../../kinds.ts";
import { SELECTORS } from "../../ack/selectors.ts";
import { LIMITS } from "../../core/limits.ts";
import type { DecisionSettings } from "../../core/context.ts";
import type { Finding } from "../../core/check.ts";
import { compareText, countOf } from "../../formats/text.ts";
import { paced, type Paced } from "../../formats/paced.ts";
import type { Inventory } from "../../core/inventory.ts";
import type { Change, ComparedObject, Impact } from "../impact.ts";
import { type Judgment, ReasonTables, stateOf } from "./map-reasons.ts";
import { IgnoredSelectors, storedSelectors } from "./map-selectors.ts";
import { MapTable, shownOrNull, shownText } from "./map-table.ts";
import {
  type MapNamespace, type MapObject, type MapTotals, type MapUnjudged, type RoleMap, type State, STATES,
} from "./role-map.ts";
import { UseCounter } from "./use-counter.ts";

/** An ACK resource, or an object that refers to a CAPA identity. */
export interface MapResource {
  readonly resource: Parameters<typeof resolve>[1];
  /** Called several times, so that a server need not store what is wrong with all resources. */
  readonly findings: (resolution: Resolution) => readonly Finding[];
}

/** Another object, and what is wrong with it. */
export interface JudgedObject extends Pick<MapObject, "kind" | "namespace" | "name" | "place"> {
  readonly findings: readonly Finding[];
}

export interface RoleMapInput {
  readonly root: string | null;
  readonly inventory: Inventory;
  readonly settings: DecisionSettings;
  readonly resources: Iterable<MapResource>;
  /** The selectors of which more is known than their faults in the inventory, by name. */
  readonly selectors: ReadonlyMap<string, Pick<JudgedObject, "findings" | "place">>;
  /** The other objects that have findings. */
  readonly objects: readonly JudgedObject[];
  /** What was not judged, besides the kinds that the cluster does not list. */
  readonly unjudged: readonly MapUnjudged[];
  /** Null if the map shows no change. */
  readonly impacts: readonly Impact[] | null;
}

const RESOURCES_BETWEEN_PAUSES = 50;
const NAMESPACES_BETWEEN_PAUSES = 10;

/** Returns the map. The same resources in another order have the same map. */
export function* roleMapOf(input: RoleMapInput): Paced<RoleMap> {
  const tables = new ReasonTables();
  const ignored = addSelectors(tables, input);
  const namespaces = new MapTable<MapNamespace>(LIMITS.mapNamespaces.value);
  const places = {
    kinds: new MapTable<string>(),
    namespace: (name: string) => namespaces.add(name, () => shownNamespace(name, input.inventory, ignored)),
  };
  const resources = new UseCounter<[reason: number]>({
    ...places, withoutDetails: ([reason]) => [tables.withoutDetails(reason)],
  });
  const ranked = yield* rankedResources(input, ignored);
  yield* paced(ranked, RESOURCES_BETWEEN_PAUSES, (one) => {
    resources.add(one.resource, [tables.reason(judge(one, input))]);
    return true;
  });
  const moved = new UseCounter<[change: Change, before: number, after: number]>({
    ...places,
    withoutDetails: ([change, before, after]) => [change, tables.withoutDetails(before), tables.withoutDetails(after)],
  });
  for (const { resource, change, before, after } of input.impacts ?? []) {
    const index = (resolution: Resolution | null, faulty: Judgment["faulty"]): number => (
      resolution === null ? -1 : tables.reason({ resolution, findings: [], faulty })
    );
    // Which selectors were faulty before the change is unknown.
    moved.add(resource, [change, index(before, new Set()), index(after, input.inventory.of(SELECTORS).faulty)]);
  }
  const objects = input.objects.toSorted(compareObjects);
  const unjudged = [...input.unjudged, ...unlistedKinds(input.inventory)];
  const shown = objects.slice(0, LIMITS.mapObjects.value).map((object) => shownObject(object, tables));
  const uses = resources.uses();
  return {
    ...sourceOf(input),
    totals: totalsOf(input.inventory, unjudged, ranked),
    namespaces: namespaces.items, kinds: places.kinds.items, roles: tables.roles.items,
    selectors: tables.selectors.items, findings: tables.findings.items, reasons: tables.reasons.items,
    uses, objects: shown,
    unjudged: unjudged.toSorted(compareUnjudged).slice(0, LIMITS.mapObjects.value),
    moves: input.impacts === null ? null : moved.uses(),
    omitted: omissions(input, [
      [namespaces.rejected, "namespace", `, with ${countOf(resources.omitted, "resource")}`],
      [moved.omitted, "change", " of other namespaces"],
      [resources.withoutDetails + moved.withoutDetails, "resource", DETAILS],
      [resources.unnamed, "name", " of resources, which no search finds"],
      [tables.reasons.rejected, "reason", " for roles"],
      [objects.length - shown.length, "object", " with findings"],
      [unjudged.length - LIMITS.mapObjects.value, "file", " that were not judged"],
    ]),
  };
}

function sourceOf(
  { root, inventory, settings }: RoleMapInput,
): Pick<RoleMap, "root" | "isCluster" | "controllerAccount"> {
  const isCluster = inventory.origin === "cluster";
  return { root: shownOrNull(root), isCluster, controllerAccount: shownOrNull(controllerAccountOf(settings)) };
}

const DETAILS = ", except their number, state and role, because their namespaces have too many kinds";

interface RankedResource extends MapResource {
  readonly state: State;
}

function judge({ resource, findings }: MapResource, { inventory, settings }: RoleMapInput): Judgment {
  const resolution = resolve(inventory, resource, settings);
  return { resolution, findings: findings(resolution), faulty: inventory.of(SELECTORS).faulty };
}

/** Returns the resources with what is wrong first, by namespace. */
function* rankedResources(input: RoleMapInput, ignored: IgnoredSelectors): Paced<readonly RankedResource[]> {
  const byPlace = new Map<string, RankedResource[]>();
  yield* paced(input.resources, RESOURCES_BETWEEN_PAUSES, (one) => {
    const state = stateOf(judge(one, input));
    const { namespace } = one.resource;
    const worst = ignored.of(namespace).length > 0 ? STATES.indexOf("malformed") : Infinity;
    const place = `${Math.min(STATES.indexOf(state), worst)}${namespace}`;
    const list = byPlace.get(place);
    if (list === undefined) byPlace.set(place, [{ ...one, state }]);
    else list.push({ ...one, state });
    return true;
  });
  const reasonOf = (one: MapResource): string => reasonText(judge(one, input));
  const ranked: RankedResource[] = [];
  const places = [...byPlace].toSorted(([a], [b]) => compareText(a, b));
  yield* paced(places, NAMESPACES_BETWEEN_PAUSES, ([, list]) => {
    // The reasons tell resources without a name apart.
    const sorted = list.toSorted((a, b) => (
      compareResources(a.resource, b.resource) || compareText(reasonOf(a), reasonOf(b))
    ));
    for (const one of sorted) ranked.push(one);
    return true;
  });
  return ranked;
}

/** Compares resources of a namespace. */
function compareResources(a: ComparedObject, b: ComparedObject): number {
  return compareText(a.kind, b.kind) || compareText(a.group, b.group) || compareText(a.name ?? "", b.name ?? "");
}

function reasonText({ resolution, findings }: Judgment): string {
  return JSON.stringify([resolution, ...findings.map(({ code, path, message }) => [code, path, message])]);
}

/** Adds the selectors to the tables, and returns those that controllers ignore. */
function addSelectors(tables: ReasonTables, { inventory, selectors }: RoleMapInput): IgnoredSelectors {
  const ignored = new IgnoredSelectors(inventory.namespaces);
  for (const { name, roleARN, written, ...rest } of storedSelectors(inventory, LIMITS.mapSelectors.value)) {
    const { findings, place } = selectors.get(name) ?? { findings: storedFaults(inventory, name), place: null };
    const index = tables.selectors.addAlways(name, () => ({
      ...rest, name: shownText(name), role: roleARN === "" ? null : tables.role(roleARN),
      findings: tables.indexesOf(findings), place: shownOrNull(place),
    }));
    if (written !== null) ignored.add(index, written);
  }
  return ignored;
}

/** Returns the faults because of which sidecars grant no role of the selector. */
function storedFaults(inventory: Inventory, name: string): Finding[] {
  return (inventory.of(SELECTORS).faulty.get(name)?.faults ?? []).filter(({ withholdsGrant }) => withholdsGrant)
    .map(({ code, path, message, fix }) => (
      { code, section: "checks", path, message, fix, severity: "deny", waivable: false, waived: false }
    ));
}

function unlistedKinds(inventory: Inventory): MapUnjudged[] {
  const kinds = SEPARATE_STORES.flatMap((one) => [...inventory.unlisted(one)]);
  return kinds.map((kind) => (
    { file: kind, count: 1, what: "kind that the cluster does not list", fix: "grant the right to list it" }
  ));
}

function shownNamespace(name: string, { namespaces }: Inventory, ignored: IgnoredSelectors): MapNamespace {
  const isKnown = namespaces.has(name);
  const labels = isKnown ? [...namespaces.labelsOf(name)].toSorted(([a], [b]) => compareText(a, b)) : [];
  const shown = labels.slice(0, MAX_LABELS).map(([key, value]) => [shownText(key), shownText(value)] as const);
  return { name: shownText(name), labels: shown, isKnown, ignored: ignored.of(name).slice(0, MAX_IGNORED) };
}

/** More labels would not help to group namespaces. */
const MAX_LABELS = 30;
const MAX_IGNORED = 20;

function shownObject({ kind, namespace, name, findings, place }: JudgedObject, tables: ReasonTables): MapObject {
  return {
    kind: shownText(kind), namespace: shownText(namespace), name: shownText(name),
    findings: tables.indexesOf(findings), place: shownOrNull(place),
  };
}

function compareObjects(a: JudgedObject, b: JudgedObject): number {
  return compareText(objectText(a), objectText(b));
}

function objectText({ kind, namespace, name, place }: JudgedObject): string {
  return JSON.stringify([kind, namespace, name, place]);
}

function compareUnjudged(a: MapUnjudged, b: MapUnjudged): number {
  return compareText(unjudgedKey(a), unjudgedKey(b));
}

function unjudgedKey({ file, what, count }: MapUnjudged): string {
  return JSON.stringify([file !== null, file, what, count]);
}

function totalsOf(
  inventory: Inventory, unjudged: readonly MapUnjudged[], resources: readonly RankedResource[],
): MapTotals {
  const names = new Set([...inventory.namespaces.names, ...resources.map(({ resource }) => resource.namespace)]);
  const malformed = inventory.of(SELECTORS).malformed.size;
  const states = {
    conflict: 0, refused: 0, malformed: 0, faulty: 0, stale: 0, default: 0, unjudged: 0, resolved: 0,
  } satisfies Record<State, number>;
  for (const { state } of resources) states[state]++;
  states.malformed += malformed;
  states.faulty += inventory.of(SELECTORS).faulty.size - malformed;
  states.unjudged += unjudged.reduce((sum, { count }) => sum + count, 0);
  return {
    resources: resources.length, namespaces: names.size, selectors: inventory.of(SELECTORS).size + malformed, states,
  };
}

/** Returns a sentence for each number that is not 0, and one about selectors. */
function omissions(
  { inventory }: RoleMapInput, counts: readonly (readonly [number, string, string])[],
): string[] {
  const selectors = inventory.of(SELECTORS);
  const more = selectors.size + selectors.malformed.size - LIMITS.mapSelectors.value;
  const all = [...counts, [more, "selector", ""] as const].filter(([count]) => count > 0);
  return all.map(([count, noun, rest]) => `The map leaves out ${countOf(count, noun)}${rest}.`);
}
