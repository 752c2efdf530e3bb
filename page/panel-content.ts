import { moveContent } from "./change-list.ts";
import {
  malformedItems, missing, objectContent, type Open, type PanelContent, type PartOf, reasonsBody, roleContent,
  selectorContent, unjudgedContent,
} from "./panel.ts";
import { pathDrawing } from "./path-drawing.ts";
import { cellReasons, type ReasonGroup, reasonGroups } from "./view/details.ts";
import type { Model } from "./view/model.ts";
import { pathsOf } from "./view/paths.ts";
import { filteredPart, type Matrix } from "./view/rows.ts";
import type { View } from "./view/view-state.ts";

/** What the panel can refer to. */
interface Shown {
  readonly model: Model;
  readonly matrix: Matrix | null;
  readonly view: View;
  readonly open: Open;
}

const CONTENTS: Readonly<Record<string, (shown: Shown, name: string, column: string) => PanelContent>> = {
  role: ({ model, open }, name) => roleContent(model, name, open),
  selector: ({ model, open }, name) => selectorContent(model, name, open),
  object: ({ model }, name) => objectContent(model, Number(name)),
  unjudged: ({ model }, name) => unjudgedContent(model, Number(name)),
  move: ({ model, open }, name) => moveContent(model, Number(name), open),
  namespace: namespaceContent,
  cell: cellContent,
};

/** Returns what an address explains. Anyone can write an address. */
export function panelContent(shown: Shown, [type = "", name = "", column = ""]: readonly string[]): PanelContent {
  const content = Object.hasOwn(CONTENTS, type) ? CONTENTS[type] : undefined;
  return content === undefined ? missing("Link", type) : content(shown, name, column);
}

function namespaceContent(shown: Shown, name: string): PanelContent {
  const groups = reasonGroups(shown.model.uses.filter(({ namespace }) => namespace.name === name));
  if (groups.length === 0) return missing("Namespace", name);
  return { kicker: "Why", title: name, body: whyBody(shown, name, groups) };
}

function whyBody({ model, view, open }: Shown, title: string, groups: readonly ReasonGroup[]): PanelContent["body"] {
  const partOf: PartOf = (use) => filteredPart(model, view, use);
  return [
    pathDrawing(title, pathsOf(model, groups), model.map.controllerAccount, open),
    ...malformedItems(model, groups.flatMap(({ uses }) => uses), open), ...reasonsBody(model, groups, open, partOf),
  ];
}

function cellContent(shown: Shown, name: string, column: string): PanelContent {
  const { model, matrix } = shown;
  const names = namesOf(matrix, name, column);
  const groups = cellReasons(model, names, column);
  if (groups.length === 0) return missing("Namespace", name);
  const title = names.length > 1 ? `${name} and ${names.length - 1} equal namespaces` : name;
  const found = matrix?.columns.find(({ id }) => id === column);
  const heading = found?.kind === "account" ? `account ${found.title}` : found?.title;
  const kicker = heading === undefined ? "Why" : `Why: ${heading}`;
  return { kicker, title, body: whyBody(shown, title, groups) };
}

/** Returns the namespaces of the row that starts with the namespace. */
function namesOf(matrix: Matrix | null, name: string, column: string): readonly string[] {
  const row = matrix?.rows.find((one) => one.type === "namespace" && one.names[0] === name);
  return row?.type === "namespace" && row.cells.some((cell) => cell.column.id === column) ? row.names : [name];
}
