import { type State, STATES } from "../../shared/diagnosis/role-map/role-map.ts";
import { type Column, columnOf, compare, sortedColumns } from "./columns.ts";
import { type KnownUse, markOf, type Model } from "./model.ts";
import { BY_ATTENTION, BY_NAME, type View } from "./view-state.ts";
import { counted, roleName, shortKind } from "./words.ts";

/** The number of resources in each state, most important state first. */
export type StateCounts = readonly (readonly [state: State, count: number])[];

/** What a namespace, or several equal ones, has in a column. */
export interface Cell {
  readonly column: Column;
  /** The number of resources with each mark, most important state first. */
  readonly states: StateCounts;
  /** Such as `media, storefront +1`; "" if the column tells the role or there is none. */
  readonly role: string;
  /** Such as `Bucket, Queue and 2 more kinds`. */
  readonly kinds: string;
}

export interface NamespaceRow {
  readonly type: "namespace";
  /** The names of the namespaces: several if the row stands for equal ones. */
  readonly names: readonly string[];
  readonly isKnown: boolean;
  /** The marks of the resources that are not resolved, and of malformed selectors, most important state first. */
  readonly problems: readonly State[];
  readonly cells: readonly Cell[];
}

interface GroupRow {
  readonly type: "group";
  readonly title: string;
  readonly detail: string;
}

export type Row = NamespaceRow | GroupRow;

export interface Matrix {
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  /** The number of namespaces that the rows show. */
  readonly namespaces: number;
  readonly resources: number;
  /** What all filters leave but that of the states. */
  readonly states: StateCounts;
}

/** Returns the parts of the uses that the filters of the view select. */
export function filteredUses(model: Model, view: View): KnownUse[] {
  return model.uses.flatMap((use) => filteredPart(model, view, use) ?? []);
}

/** Returns the part of a use that the filters of the view select, or null. */
export function filteredPart(model: Model, view: View, use: KnownUse): KnownUse | null {
  const isSelected = isInStates(use, view) && (view.kind === "" || use.kind === view.kind);
  return isSelected ? model.find(use, view.query) : null;
}

function isInStates({ reason }: KnownUse, { states }: View): boolean {
  return states.length === 0 || states.includes(reason.state);
}

/** Returns the columns and the rows of the view. */
export function matrixOf(model: Model, view: View): Matrix {
  const inAllStates = filteredUses(model, { ...view, states: [] });
  const uses = inAllStates.filter((use) => isInStates(use, view));
  const accounts = new Set(view.accounts);
  const columns = sortedColumns(uses.map((use) => columnOf(use, accounts)));
  const byName = Map.groupBy(uses, ({ namespace }) => namespace.name);
  const groups = Map.groupBy(byName.values(), (own) => groupOf(own, view));
  const sorted = [...groups].toSorted(([a], [b]) => compare(a, b));
  const rows = sorted.flatMap(([title, lists]): Row[] => {
    const own = foldedRows(lists.map((list) => rowOf(list, accounts)), view);
    return title === "" ? own : [headingOf(title.slice(1), lists.flat(), view), ...own];
  });
  return { columns, rows, namespaces: byName.size, resources: resourcesIn(uses), states: statesOf(inAllStates) };
}

/** Returns the address of what explains a row: its only cell, or all cells of its first namespace. */
export function addressOf({ names: [name = ""], cells }: NamespaceRow): string[] {
  const [first] = cells;
  return cells.length === 1 && first !== undefined ? ["cell", name, first.column.id] : ["namespace", name];
}

export function resourcesIn(uses: readonly KnownUse[]): number {
  return uses.reduce((sum, { count }) => sum + count, 0);
}

/** Returns the title of the group of a namespace, after a character that sorts the groups; "" without groups. */
function groupOf(uses: readonly KnownUse[], { group }: View): string {
  if (group === BY_NAME) return "";
  if (group === BY_ATTENTION) {
    return uses.every(isFine) ? "1Resolved" : "0Needs attention";
  }
  const key = group.slice("label:".length);
  const value = uses[0]?.namespace.labels.find(([name]) => name === key)?.[1];
  return value === undefined ? `1no label ${key}` : `0${key}: ${value}`;
}

/** Returns the heading of a group. What needs attention has the number of resources that do. */
function headingOf(title: string, uses: readonly KnownUse[], { group }: View): GroupRow {
  const namespaces = new Set(uses.map(({ namespace }) => namespace.name)).size;
  const wrong = resourcesIn(uses.filter(({ reason }) => reason.state !== "resolved"));
  const all = resourcesIn(uses);
  const part = group === BY_ATTENTION && wrong > 0 && wrong < all ? `${wrong.toLocaleString("en")} of ` : "";
  const detail = `${counted(namespaces, "namespace")}, ${part}${counted(all, "resource")}`;
  return { type: "group", title, detail };
}

function rowOf(uses: readonly KnownUse[], accounts: ReadonlySet<string>): FoldableRow {
  const [first] = uses;
  const byColumn = Map.groupBy(uses, (use) => columnOf(use, accounts).id);
  const columns = sortedColumns(uses.map((use) => columnOf(use, accounts)));
  return {
    name: first?.namespace.name ?? "", isKnown: first?.namespace.isKnown !== false,
    isFine: uses.every(isFine), isIgnored: uses.some(({ namespace: { ignored } }) => ignored.length > 0),
    columns: columns.map((column) => ({ column, uses: byColumn.get(column.id) ?? [] })),
  };
}

interface FoldableRow {
  readonly name: string;
  readonly isKnown: boolean;
  readonly isFine: boolean;
  /** Whether a malformed selector is written for the namespace. */
  readonly isIgnored: boolean;
  readonly columns: readonly { readonly column: Column; readonly uses: readonly KnownUse[] }[];
}

/** Returns the rows, sorted by name. Namespaces whose resources are all resolved in the same columns are one row. */
function foldedRows(rows: readonly FoldableRow[], { isFolded, unfolded }: View): NamespaceRow[] {
  const sorted = rows.toSorted((a, b) => compare(a.name, b.name));
  const equal = Map.groupBy(sorted, (row) => (
    isFolded && row.isFine ? JSON.stringify(row.columns.map(({ column }) => column.id)) : `"${row.name}`
  ));
  return [...equal.values()].flatMap((same) => (
    same.length > 1 && unfolded.includes(same[0]?.name ?? "") ? same.map((row) => joined([row])) : [joined(same)]
  ));
}

/** Joins rows that have the same columns. */
function joined(rows: readonly FoldableRow[]): NamespaceRow {
  const cells = (rows[0]?.columns ?? []).map(({ column }, i): Cell => {
    const uses = rows.flatMap(({ columns }) => columns[i]?.uses ?? []);
    return { column, states: statesOf(uses, markOf), role: roleOf(uses, column), kinds: kindsOf(uses) };
  });
  const found = new Set(cells.flatMap(({ states }) => states.map(([state]) => state)));
  if (rows.some(({ isIgnored }) => isIgnored)) found.add("malformed");
  return {
    type: "namespace", names: rows.map(({ name }) => name), isKnown: rows.every(({ isKnown }) => isKnown), cells,
    problems: STATES.filter((state) => state !== "resolved" && found.has(state)),
  };
}

export function statesOf(
  uses: readonly KnownUse[], stateOf: (use: KnownUse) => State = ({ reason }) => reason.state,
): StateCounts {
  const byState = Map.groupBy(uses, stateOf);
  return STATES.flatMap((state) => {
    const own = byState.get(state);
    return own === undefined ? [] : [[state, resourcesIn(own)] as const];
  });
}

/** Whether one role applies, and no malformed selector is written for the namespace. */
function isFine({ reason, namespace }: KnownUse): boolean {
  return reason.state === "resolved" && namespace.ignored.length === 0;
}

function roleOf(uses: readonly KnownUse[], { kind }: Column): string {
  if (kind !== "account") return "";
  return someOf(uses.flatMap(({ role }) => (role === null ? [] : roleName(role.arn))));
}

function kindsOf(uses: readonly KnownUse[]): string {
  return someOf(uses.map(({ kind }) => shortKind(kind)));
}

const MAX_NAMES = 2;

/** Returns the first names, each once and sorted, and the number of the others. */
export function someOf(texts: readonly string[], most = MAX_NAMES): string {
  const names = [...new Set(texts)].toSorted(compare);
  const more = names.length - most;
  return more > 0 ? `${names.slice(0, most).join(", ")} +${more}` : names.join(", ");
}
