import { countOf, printable } from "../../shared/formats/text.ts";

/** A hostile name must not fill a part, which would hide the other changes. */
const MAX_CELL = 300;

export function row(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}

/** Returns the first texts whose lines fit into the bytes, and the number of the others. */
export function fitting(texts: readonly string[], maxBytes: number, noun: string): string[] {
  let bytes = 0;
  const end = texts.findIndex((text) => (bytes += Buffer.byteLength(text) + 1) > maxBytes);
  return end < 0 ? [...texts] : [...texts.slice(0, end), "", `and ${countOf(texts.length - end, noun)}`];
}

/** Returns a code span for a table cell, in which no backtick can end the span and no pipe the cell. */
export function code(text: string, length = MAX_CELL): string {
  const shown = cut(printable(text), length).replaceAll("`", String.raw`\u0060`).replaceAll("|", String.raw`\u007c`);
  return shown.trim() === "" ? "" : `\`${shown}\``;
}

export function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`.toWellFormed();
}
