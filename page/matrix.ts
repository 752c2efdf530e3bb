import { button, h, nameText } from "./dom.ts";
import type { GridSource } from "./grid.ts";
import { shape } from "./shapes.ts";
import type { Column } from "./view/columns.ts";
import type { Cell, Matrix, NamespaceRow, Row } from "./view/rows.ts";
import { STATE_WORDS } from "./view/words.ts";

/** What the matrix asks the page to do. */
export interface MatrixActions {
  readonly open: (address: readonly string[]) => void;
  /** Shows a column for each role of the account, or for the account. */
  readonly toggleAccount: (account: string) => void;
  /** Shows a row for each of the equal namespaces. */
  readonly unfold: (namespace: string) => void;
}

/** Returns the matrix as the source of a grid. */
export function matrixSource(
  { columns, rows }: Matrix, ownAccount: string | null, actions: MatrixActions,
): GridSource {
  const indexes = new Map(columns.map(({ id }, index) => [id, index]));
  const cellsAt = (row: number): readonly Cell[] => {
    const found = rows[row];
    return found?.type === "namespace" ? found.cells : [];
  };
  const cellAt = (row: number, column: number): Cell | undefined => (
    cellsAt(row).find((cell) => cell.column.id === columns[column]?.id)
  );
  return {
    label: "Resources by namespace and account", rowCount: rows.length, columnCount: columns.length,
    cellsOf: (row) => cellsAt(row).flatMap(({ column }) => indexes.get(column.id) ?? []),
    corner: () => h("div", { class: "corner", role: "columnheader", "aria-colindex": 1 }, "Namespace"),
    head: (index) => columnHead(columns[index], ownAccount, actions),
    rowHead: (index) => rowHead(rows[index]),
    cell: ({ row, column }) => cellElement(cellAt(row, column)),
    press({ row, column }) {
      const found = rows[row];
      if (found?.type !== "namespace") return;
      const [name = ""] = found.names;
      if (column >= 0) actions.open(["cell", name, columns[column]?.id ?? ""]);
      else if (found.names.length > 1) actions.unfold(name);
      else actions.open(["namespace", name]);
    },
  };
}

function columnHead(
  column: Column | undefined, ownAccount: string | null, actions: MatrixActions,
): HTMLElement {
  const head = h("div", { class: `column-head ${column?.kind ?? ""}`, role: "columnheader" });
  if (column !== undefined) head.append(...headParts(column, actions));
  if (column?.kind === "own") {
    const account = ownAccount ?? "account unknown";
    head.append(h("bdi", { class: "hint", title: ownAccount ?? "Pass --controller-account" }, account));
  }
  return head;
}

function headParts({ kind, title, account, arn }: Column, { open, toggleAccount }: MatrixActions): HTMLElement[] {
  if (account === null) return [h("span", { class: "column-title" }, title)];
  const toggle = (): void => toggleAccount(account);
  if (kind !== "role") {
    const label = `Show each role of account ${account}`;
    return [
      button({ "class": "account", "aria-expanded": "false", "title": label }, toggle, nameText(account)),
      h("span", { "class": "hint", "aria-hidden": "true" }, "account"),
    ];
  }
  const attributes = {
    "class": "account small", "aria-expanded": "true", "title": `Show one column for account ${account}`,
  };
  return [
    button(attributes, toggle, nameText(account)),
    button({ class: "role", title: `Who uses ${arn}` }, () => open(["role", arn]), nameText(title)),
  ];
}

function rowHead(row: Row | undefined): HTMLElement {
  if (row?.type !== "namespace") {
    return h(
      "div", { role: "rowheader", class: "group-head" },
      h("span", {}, h("bdi", {}, row?.title ?? ""), h("small", {}, row?.detail ?? "")),
    );
  }
  const [first = ""] = row.names;
  // The cell with the problem can be in a column that is not visible.
  const name = h("span", { class: "row-name" }, nameText(first), ...row.problems.map(shape));
  return h("div", { role: "rowheader", class: "row-head" }, name, rowNote(row));
}

function rowNote({ names, isKnown }: NamespaceRow): HTMLElement | null {
  if (names.length > 1) return h("small", {}, `and ${names.length - 1} equal · show`);
  return isKnown ? null : h("small", {}, "the input lacks this Namespace");
}

function cellElement(cell: Cell | undefined): HTMLElement {
  const { states = [], role = "", kinds = "" } = cell ?? {};
  const counts = states.map(([state, count]) => h(
    "span", { class: `count ${state}` }, shape(state), h("bdi", {}, String(count)),
    h("span", { class: "spoken" }, ` ${STATE_WORDS[state][0]}`),
  ));
  return h(
    "div", { role: "gridcell", class: "cell" },
    h("span", { class: "counts" }, ...counts, role === "" ? null : nameText(role, "role")),
    h("bdi", { class: "kinds", title: kinds }, kinds),
  );
}
