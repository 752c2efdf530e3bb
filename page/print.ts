import { fill, h } from "./dom.ts";
import { columnOf, compare } from "./view/columns.ts";
import type { KnownUse, Side } from "./view/model.ts";
import { type MoveRow, subjectOf } from "./view/moves.ts";
import { CHANGE_WORDS, counted, roleName, shortKind, STATE_WORDS } from "./view/words.ts";

/** A long document would take a browser minutes to lay out. */
const MAX_PRINTED = 3_000;

/** Fills the element with a table that paper has room for: what the filters select, what is wrong first. */
export function printUses(element: Element, uses: readonly KnownUse[]): void {
  const sorted = uses.toSorted((a, b) => (
    Number(a.reason.state === "resolved") - Number(b.reason.state === "resolved")
    || compare(a.namespace.name, b.namespace.name) || compare(a.kind, b.kind)
  ));
  const rows = sorted.map((use) => [
    use.namespace.name, `${use.count} × ${shortKind(use.kind)}`, STATE_WORDS[use.reason.state][0],
    columnOf(use, new Set()).title, use.role === null ? "" : roleName(use.role.arn), use.reason.message,
  ]);
  printTable(element, ["Namespace", "Resources", "State", "Account", "Role", "Why"], rows);
}

export function printMoves(element: Element, moves: readonly MoveRow[]): void {
  const rows = moves.map((move) => [
    move.namespace, subjectOf(move), CHANGE_WORDS[move.change], sideText(move.before), sideText(move.after),
  ]);
  printTable(element, ["Namespace", "Resources", "Change", "Before", "After"], rows);
}

function sideText(side: Side | null): string {
  if (side === null) return "absent";
  const { reason, role } = side;
  return role === null ? STATE_WORDS[reason.state][0] : `${role.account ?? ""} ${roleName(role.arn)}`;
}

function printTable(element: Element, heads: readonly string[], rows: readonly (readonly string[])[]): void {
  const head = h("thead", {}, h("tr", {}, ...heads.map((text) => h("th", { scope: "col" }, text))));
  const body = rows.slice(0, MAX_PRINTED).map((cells) => (
    h("tr", {}, ...cells.map((text) => h("td", {}, h("bdi", {}, text))))
  ));
  const more = rows.length - MAX_PRINTED;
  fill(
    element, h("table", {}, head, h("tbody", {}, ...body)),
    more > 0 ? h("p", {}, `${counted(more, "row")} not printed. Filter the page to print them.`) : null,
  );
}
