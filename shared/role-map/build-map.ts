import { LIMITS } from "../contract/limits.ts";
import type { Finding } from "../checks/check.ts";
import { compareText, countOf } from "../formats/text.ts";
import { paced, type Paced } from "../formats/paced.ts";
import type { Inventory } from "../inventory/inventory.ts";
import type { Change, ComparedObject, Impact } from "../resolution/impact.ts";
import type { Resolution } from "../resolution/resolve.ts";
import { ReasonTables, stateOf } from "./map-reasons.ts";
import { storedSelectors } from "./map-selectors.ts";
import { MapTable, shownOrNull, shownText } from "./map-table.ts";
import {
  type MapNamespace, type MapObject, type MapTotals, type MapUnjudged, type RoleMap, type State, STATES,
} from "./role-map.ts";
import { UseCounter } from "./use-counter.ts";

/** What was decided about a resource, or about an object that refers to a CAPA identity. */
export interface Judgment {
  readonly resolution: Resolution;
  readonly findings: readonly Finding[];
}

export interface MapResource {
  readonly resource: ComparedObject;
  /** Called several times, so that a server need not store all resolutions. */
  readonly judge: () => Judgment;
}

/** Another object, and what is wrong with it. */
export interface JudgedObject extends Pick<MapObject, "kind" | "namespace" | "name" | "place"> {
  readonly findings: readonly Finding[];
}

export interface RoleMapInput {
  readonly root: string | null;
  readonly inventory: Inventory;
  readonly resources: Iterable<MapResource>;
  /** The selectors of which findings or a place are known, by name. */
  readonly selectors: ReadonlyMap<string, Pick<JudgedObject, "findings" | "place">>;
  /** The other objects that have findings. */
  readonly objects: readonly JudgedObject[];
  readonly unjudged: readonly MapUnjudged[];
  /** Null if the map shows no change. */
  readonly impacts: readonly Impact[] | null;
}

const RESOURCES_BETWEEN_PAUSES = 50;
const NAMESPACES_BETWEEN_PAUSES = 10;

/** Returns the map. The same resources in another order have the same map. */
export function* roleMapOf(input: RoleMapInput): Paced<RoleMap> {
  const tables = new ReasonTables();
  addSelectors(tables, input);
  const namespaces = new MapTable<MapNamespace>(LIMITS.mapNamespaces.value);
  const places = {
    kinds: new MapTable<string>(),
    namespace: (name: string) => namespaces.add(name, () => shownNamespace(name, input.inventory)),
  };
  const resources = new UseCounter<[reason: number]>({
    ...places, withoutDetails: ([reason]) => [tables.withoutDetails(reason)],
  });
  const ranked = yield* rankedResources(input.resources);
  yield* paced(ranked, RESOURCES_BETWEEN_PAUSES, ({ resource, judge }) => {
    const { resolution, findings } = judge();
    resources.add(resource, [tables.reason(resolution, findings)]);
    return true;
  });
  const moved = new UseCounter<[change: Change, before: number, after: number]>({
    ...places,
    withoutDetails: ([change, before, after]) => [change, tables.withoutDetails(before), tables.withoutDetails(after)],
  });
  for (const { resource, change, before, after } of input.impacts ?? []) {
    const index = (one: Resolution | null): number => (one === null ? -1 : tables.reason(one, []));
    moved.add(resource, [change, index(before), index(after)]);
  }
  const objects = input.objects.toSorted(compareObjects);
  const shown = objects.slice(0, LIMITS.mapObjects.value).map((object) => shownObject(object, tables));
  return {
    root: shownOrNull(input.root),
    totals: totalsOf(input, ranked),
    namespaces: namespaces.items, kinds: places.kinds.items, roles: tables.roles.items,
    selectors: tables.selectors.items, findings: tables.findings.items, reasons: tables.reasons.items,
    uses: resources.uses(), objects: shown,
    unjudged: input.unjudged.toSorted(compareUnjudged).slice(0, LIMITS.mapObjects.value),
    moves: input.impacts === null ? null : moved.uses(),
    omitted: omissions(input, [
      [namespaces.rejected, "namespace", `, with ${countOf(resources.omitted, "resource")}`],
      [moved.omitted, "change", " of other namespaces"],
      [resources.withoutDetails + moved.withoutDetails, "resource", DETAILS],
      [tables.reasons.rejected, "reason", " for roles"],
      [objects.length - shown.length, "object", " with findings"],
      [input.unjudged.length - LIMITS.mapObjects.value, "file", " that were not judged"],
    ]),
  };
}

const DETAILS = ", except their number, state and role, because their namespaces have too many kinds";

interface RankedResource extends MapResource {
  readonly state: State;
}

/** Returns the resources with what is wrong first, by namespace. */
function* rankedResources(resources: Iterable<MapResource>): Paced<readonly RankedResource[]> {
  const byPlace = new Map<string, RankedResource[]>();
  yield* paced(resources, RESOURCES_BETWEEN_PAUSES, (one) => {
    const { resolution, findings } = one.judge();
    const state = stateOf(resolution, findings);
    const place = `${STATES.indexOf(state)}${one.resource.namespace}`;
    const list = byPlace.get(place);
    if (list === undefined) byPlace.set(place, [{ ...one, state }]);
    else list.push({ ...one, state });
    return true;
  });
  const ranked: RankedResource[] = [];
  const places = [...byPlace].toSorted(([a], [b]) => compareText(a, b));
  yield* paced(places, NAMESPACES_BETWEEN_PAUSES, ([, list]) => {
    for (const one of list.toSorted(compareResources)) ranked.push(one);
    return true;
  });
  return ranked;
}

/** Compares resources of a namespace. The judgments tell resources without a name apart. */
function compareResources({ resource: a, judge: judgeA }: MapResource, { resource: b, judge }: MapResource): number {
  return compareText(a.kind, b.kind) || compareText(a.group, b.group) || compareText(a.name ?? "", b.name ?? "")
    || compareText(reasonText(judgeA()), reasonText(judge()));
}

function reasonText({ resolution, findings }: Judgment): string {
  return JSON.stringify([resolution, ...findings.map(({ code, path, message }) => [code, path, message])]);
}

function addSelectors(tables: ReasonTables, { inventory, selectors }: RoleMapInput): void {
  for (const { name, roleARN, ...rest } of storedSelectors(inventory, LIMITS.mapSelectors.value)) {
    const { findings = [], place = null } = selectors.get(name) ?? {};
    tables.selectors.add(name, () => ({
      ...rest, name: shownText(name), role: roleARN === "" ? null : tables.role(roleARN),
      findings: tables.indexesOf(findings), place: shownOrNull(place),
    }));
  }
}

function shownNamespace(name: string, { namespaces }: Inventory): MapNamespace {
  const isKnown = namespaces.has(name);
  const labels = isKnown ? [...namespaces.labelsOf(name)].toSorted(([a], [b]) => compareText(a, b)) : [];
  const shown = labels.slice(0, MAX_LABELS).map(([key, value]) => [shownText(key), shownText(value)] as const);
  return { name: shownText(name), labels: shown, isKnown };
}

/** More labels would not help to group namespaces. */
const MAX_LABELS = 30;

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

function unjudgedKey({ file, where, count }: MapUnjudged): string {
  return JSON.stringify([file !== null, file, where, count]);
}

function totalsOf(
  { inventory: { selectors, namespaces }, unjudged }: RoleMapInput,
  resources: readonly RankedResource[],
): MapTotals {
  const names = new Set([...namespaces.names, ...resources.map(({ resource }) => resource.namespace)]);
  const malformed = selectors.malformed.size;
  const states = {
    conflict: 0, refused: 0, malformed: 0, faulty: 0, stale: 0, default: 0, unjudged: 0, resolved: 0,
  } satisfies Record<State, number>;
  for (const { state } of resources) states[state]++;
  states.malformed += malformed;
  states.faulty += selectors.faulty.size - malformed;
  states.unjudged += unjudged.reduce((sum, { count }) => sum + count, 0);
  return {
    resources: resources.length, namespaces: names.size, selectors: selectors.size + malformed, states,
  };
}

/** Returns a sentence for each number that is not 0, and one about selectors. */
function omissions(
  { inventory: { selectors } }: RoleMapInput, counts: readonly (readonly [number, string, string])[],
): string[] {
  const more = selectors.size + selectors.malformed.size - LIMITS.mapSelectors.value;
  const all = [...counts, [more, "selector", ""] as const].filter(([count]) => count > 0);
  return all.map(([count, noun, rest]) => `The map leaves out ${countOf(count, noun)}${rest}.`);
}
