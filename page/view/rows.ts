import { type State, STATES } from "../../shared/diagnosis/role-map/role-map.ts";
import { type Column, columnOf, compare, sortedColumns } from "./columns.ts";
import type { KnownUse, Model } from "./model.ts";
import { BY_ATTENTION, BY_NAME, type View } from "./view-state.ts";
import { counted, shortKind } from "./words.ts";

/** What a namespace, or several equal ones, has in a column. */
export interface Cell {
  readonly column: Column;
  /** The number of resources in each state, most important state first. */
  readonly states: readonly (readonly [state: State, count: number])[];
  /** Such as `Bucket, Queue and 2 more kinds`. */
  readonly kinds: string;
}

export interface NamespaceRow {
  readonly type: "namespace";
  /** The names of the namespaces: several if the row stands for equal ones. */
  readonly names: readonly string[];
  readonly isKnown: boolean;
  /** The states of the resources that are not resolved, most important first. */
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
}

/** Returns the parts of the uses that the filters of the view select. */
export function filteredUses(model: Model, view: View): KnownUse[] {
  return model.uses.flatMap((use) => filteredPart(model, view, use) ?? []);
}

/** Returns the part of a use that the filters of the view select, or null. */
export function filteredPart(model: Model, { query, states, kind }: View, use: KnownUse): KnownUse | null {
  const isSelected = (states.length === 0 || states.includes(use.reason.state)) && (kind === "" || use.kind === kind);
  return isSelected ? model.find(use, query) : null;
}

/** Returns the columns and the rows of the view. */
export function matrixOf(model: Model, view: View): Matrix {
  const uses = filteredUses(model, view);
  const accounts = new Set(view.accounts);
  const columns = sortedColumns(uses.map((use) => columnOf(use, accounts)));
  const byName = Map.groupBy(uses, ({ namespace }) => namespace.name);
  const groups = Map.groupBy(byName.values(), (own) => groupOf(own, view));
  const sorted = [...groups].toSorted(([a], [b]) => compare(a, b));
  const rows = sorted.flatMap(([title, lists]): Row[] => {
    const own = foldedRows(lists.map((list) => rowOf(list, accounts)), view);
    return title === "" ? own : [headingOf(title.slice(1), lists.flat(), view), ...own];
  });
  return { columns, rows, namespaces: byName.size, resources: resourcesIn(uses) };
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
    return uses.some(({ reason }) => reason.state !== "resolved") ? "0Needs attention" : "1Resolved";
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
    isResolved: uses.every(({ reason }) => reason.state === "resolved"),
    columns: columns.map((column) => ({ column, uses: byColumn.get(column.id) ?? [] })),
  };
}

interface FoldableRow {
  readonly name: string;
  readonly isKnown: boolean;
  readonly isResolved: boolean;
  readonly columns: readonly { readonly column: Column; readonly uses: readonly KnownUse[] }[];
}

/** Returns the rows, sorted by name. Namespaces whose resources are all resolved in the same columns are one row. */
function foldedRows(rows: readonly FoldableRow[], { isFolded, unfolded }: View): NamespaceRow[] {
  const sorted = rows.toSorted((a, b) => compare(a.name, b.name));
  const equal = Map.groupBy(sorted, (row) => (
    isFolded && row.isResolved ? JSON.stringify(row.columns.map(({ column }) => column.id)) : `"${row.name}`
  ));
  return [...equal.values()].flatMap((same) => (
    same.length > 1 && unfolded.includes(same[0]?.name ?? "") ? same.map((row) => joined([row])) : [joined(same)]
  ));
}

/** Joins rows that have the same columns. */
function joined(rows: readonly FoldableRow[]): NamespaceRow {
  const cells = (rows[0]?.columns ?? []).map(({ column }, i): Cell => {
    const uses = rows.flatMap(({ columns }) => columns[i]?.uses ?? []);
    return { column, states: statesOf(uses), kinds: kindsOf(uses) };
  });
  const found = new Set(cells.flatMap(({ states }) => states.map(([state]) => state)));
  return {
    type: "namespace", names: rows.map(({ name }) => name), isKnown: rows.every(({ isKnown }) => isKnown), cells,
    problems: STATES.filter((state) => state !== "resolved" && found.has(state)),
  };
}

/** Returns the number of resources in each state, most important state first. */
export function statesOf(uses: readonly KnownUse[]): (readonly [State, number])[] {
  const byState = Map.groupBy(uses, ({ reason }) => reason.state);
  return STATES.flatMap((state) => {
    const own = byState.get(state);
    return own === undefined ? [] : [[state, resourcesIn(own)] as const];
  });
}

const MAX_KINDS = 2;

function kindsOf(uses: readonly KnownUse[]): string {
  const names = [...new Set(uses.map(({ kind }) => shortKind(kind)))].toSorted(compare);
  const more = names.length - MAX_KINDS;
  return more > 0 ? `${names.slice(0, MAX_KINDS).join(", ")} +${more}` : names.join(", ");
}
