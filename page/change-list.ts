import { h, nameText } from "./dom.ts";
import type { GridSource } from "./grid.ts";
import { type Open, type PanelContent, missing, reasonsBody } from "./panel.ts";
import { shape } from "./shapes.ts";
import type { Model, Side } from "./view/model.ts";
import { type ChangeRow, type MoveRow, moveRows, subjectOf } from "./view/moves.ts";
import { CHANGE_WORDS, roleName, STATE_WORDS } from "./view/words.ts";

const HEADS = ["Before", "After"] as const;

/** Returns the change as the source of a grid that has the columns before and after. */
export function changeSource(rows: readonly ChangeRow[], open: Open): GridSource {
  const at = (row: number): ChangeRow | undefined => rows[row];
  return {
    label: "Roles before and after the change", rowCount: rows.length, columnCount: HEADS.length,
    cellsOf: (row) => (at(row)?.type === "move" ? [0, 1] : []),
    corner: () => h("div", { class: "corner", role: "columnheader", "aria-colindex": 1 }, "Resource"),
    head: (column) => h("div", { class: "column-head side", role: "columnheader" }, HEADS[column] ?? ""),
    rowHead: (row) => changeHead(at(row)),
    cell({ row, column }) {
      const found = at(row);
      return sideCell(found?.type === "move" ? [found.before, found.after][column] ?? null : null);
    },
    press({ row }) {
      const found = at(row);
      if (found?.type === "move") open(["move", String(found.index)]);
    },
  };
}

function changeHead(row: ChangeRow | undefined): HTMLElement {
  if (row?.type === "move") {
    const subject = h("small", {}, h("bdi", {}, subjectOf(row)));
    return h("div", { role: "rowheader", class: "row-head" }, nameText(row.namespace), subject);
  }
  const text = h("span", {}, row?.title ?? "", h("small", {}, row?.detail ?? ""));
  return h("div", { role: "rowheader", class: "group-head" }, text);
}

function sideCell(side: Side | null): HTMLElement {
  if (side === null) return h("div", { role: "gridcell", class: "cell side" }, h("span", { class: "kinds" }, "absent"));
  const { reason, role } = side;
  const word = reason.state === "resolved" ? (role?.account ?? "other credentials") : STATE_WORDS[reason.state][0];
  return h(
    "div", { role: "gridcell", class: "cell side" },
    h("span", { class: `count ${reason.state}` }, shape(reason.state), h("bdi", {}, word)),
    h("bdi", { class: "kinds" }, role === null ? "" : roleName(role.arn)),
  );
}

/** Returns why resources had their role before a change, and why they have it after, side by side. */
export function moveContent(model: Model, index: number, open: Open): PanelContent {
  const move = moveRows(model)[index];
  if (move === undefined) return missing("Change", String(index));
  const sides = [move.before, move.after].map((side, i) => h(
    "div", { class: "column" }, h("h2", {}, HEADS[i] ?? ""), ...sideBody(model, move, side, open),
  ));
  return {
    kicker: CHANGE_WORDS[move.change], title: `${move.namespace} · ${subjectOf(move)}`,
    body: [h("div", { class: "columns" }, ...sides)],
  };
}

function sideBody(model: Model, move: MoveRow, side: Side | null, open: Open): HTMLElement[] {
  if (side === null) return [h("p", {}, "The resource does not exist.")];
  const namespace = { name: move.namespace, labels: [], isKnown: true, ignored: [] };
  const use = { namespace, kind: move.kind, ...side, count: move.count, names: move.names };
  return reasonsBody(model, [{ reason: side.reason, uses: [use] }], open);
}
