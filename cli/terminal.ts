import { styleText } from "node:util";
import { printable } from "../shared/decisions/kubernetes/text.ts";
import type { Environment } from "../shared/server/settings.ts";

type Style = "red" | "yellow" | "green" | "cyan" | "dim" | "bold";
export type Paint = (style: Style, text: string) => string;

/**
 * Returns a function that colors text if the stream is a terminal. The environment variables NO_COLOR
 * (https://no-color.org) and TERM=dumb disable colors.
 */
export function painter(stream: { readonly isTTY?: boolean }, environment: Environment): Paint {
  const plain = stream.isTTY !== true || (environment["NO_COLOR"] ?? "") !== "" || environment["TERM"] === "dumb";
  return plain ? (_style, text) => text : (style, text) => styleText(style, text, { validateStream: false });
}

/** The width of output that is not written to a terminal, in columns. */
const DEFAULT_WIDTH = 80;

/**
 * Returns the width for text output, in columns: the environment variable COLUMNS, the width of the terminal, or 80.
 * As in GNU programs, COLUMNS overrides the width of the terminal:
 * https://www.gnu.org/software/coreutils/manual/html_node/General-output-formatting.html
 */
export function widthOf(
  { isTTY, columns = 0 }: { readonly isTTY?: boolean; readonly columns?: number | undefined }, environment: Environment,
): number {
  const requested = Number(environment["COLUMNS"]);
  if (Number.isInteger(requested) && requested > 0) return requested;
  return isTTY === true && columns > 0 ? columns : DEFAULT_WIDTH;
}

interface TableLayout {
  /** The alignment of each column. Default: left. */
  readonly alignment?: readonly ("left" | "right")[];
  /** The maximum width of a line. Default: no limit. */
  readonly width?: number;
}

/**
 * Returns a line for each row, with two spaces between columns. The first row is the header. If the lines would be too
 * wide, replaces the middle of long cells by "…", in the widest columns first. Control characters in cells are escaped,
 * so colors must be added afterwards.
 */
export function formatTable(
  cells: readonly (readonly string[])[], { alignment = [], width = Infinity }: TableLayout = {},
): string[] {
  const rows = cells.map((row) => row.map(printable));
  const widths = fittedWidths((rows[0] ?? []).map((_, column) => (
    rows.reduce((widest, row) => Math.max(widest, (row[column] ?? "").length), 0)
  )), width);
  const align = (cell: string, column: number): string => {
    const columnWidth = widths[column] ?? 0;
    const text = shorten(cell, columnWidth);
    return alignment[column] === "right" ? text.padStart(columnWidth) : text.padEnd(columnWidth);
  };
  return rows.map((row) => row.map(align).join(GAP).trimEnd());
}

const GAP = "  ";
/** The width below which a column is not shortened, in columns of the terminal. */
const MIN_COLUMN_WIDTH = 8;

/** Returns the widths of the columns after the widest columns are shortened until the line fits. */
function fittedWidths(widths: readonly number[], lineWidth: number): number[] {
  const available = lineWidth - GAP.length * (widths.length - 1);
  let limit = Math.max(...widths);
  const isTooWide = (): boolean => widths.reduce((sum, width) => sum + Math.min(width, limit), 0) > available;
  while (limit > MIN_COLUMN_WIDTH && isTooWide()) limit--;
  return widths.map((width) => Math.min(width, limit));
}

/** Replaces the middle of a text that is longer than `length` by "…". Names often differ only in their ends. */
function shorten(text: string, length: number): string {
  if (text.length <= length) return text;
  const end = Math.floor((length - 1) / 2);
  return `${text.slice(0, length - 1 - end)}…${text.slice(text.length - end)}`.toWellFormed();
}
