import type { Change } from "../../shared/diagnosis/impact.ts";
import type { Move } from "../../shared/diagnosis/role-map/role-map.ts";
import { foundPart, type Model, type Side } from "./model.ts";
import type { View } from "./view-state.ts";
import { CHANGE_WORDS, counted, shortKind } from "./words.ts";

export interface MoveRow {
  readonly type: "move";
  /** The position in the map, the address of the row. */
  readonly index: number;
  readonly namespace: string;
  readonly kind: string;
  readonly change: Change;
  readonly count: number;
  readonly names: readonly string[];
  /** Null if the resources do not exist. */
  readonly before: Side | null;
  readonly after: Side | null;
}

export type ChangeRow = MoveRow | { readonly type: "group"; readonly title: string; readonly detail: string };

/** Returns the rows of the moves that the filters of the view select, under a heading for each type of change. */
export function changeRows(model: Model, view: View): ChangeRow[] {
  const moves = moveRows(model).flatMap((move) => shownPart(model, move, view) ?? []);
  return [...Map.groupBy(moves, ({ change }) => change)].flatMap(([change, own]): ChangeRow[] => {
    const detail = counted(own.reduce((sum, { count }) => sum + count, 0), "resource");
    return [{ type: "group", title: CHANGE_WORDS[change], detail }, ...own];
  });
}

export function moveRows(model: Model): MoveRow[] {
  return (model.map.moves ?? []).map((move, index) => moveRow(model, move, index));
}

function moveRow(model: Model, move: Move, index: number): MoveRow {
  const [namespace, kind, change, before, after, count, names] = move;
  return {
    type: "move", index, namespace: model.map.namespaces[namespace]?.name ?? "", kind: model.kindAt(kind), change,
    count, names, before: sideAt(model, before), after: sideAt(model, after),
  };
}

function sideAt(model: Model, index: number): Side | null {
  const reason = model.map.reasons[index];
  return reason === undefined ? null : { reason, role: model.roleAt(reason.role) };
}

function shownPart(model: Model, move: MoveRow, { query, kind }: View): MoveRow | null {
  if (kind !== "" && move.kind !== kind) return null;
  if (query === "") return move;
  const sides = [move.before, move.after].filter((side) => side !== null);
  const namespace = { name: move.namespace, labels: [] };
  return foundPart(move, namespace, [model.searchText(namespace, move.kind, sides), query]);
}

/** Returns what the row is about, such as `Bucket/ledger` or `3 × Bucket`. */
export function subjectOf({ count, kind, names: [first] }: Pick<MoveRow, "count" | "kind" | "names">): string {
  return count === 1 && first !== undefined ? `${shortKind(kind)}/${first}` : `${count} × ${shortKind(kind)}`;
}
