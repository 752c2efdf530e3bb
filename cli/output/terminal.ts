import { stripVTControlCharacters, styleText } from "node:util";
import { printable } from "../../shared/formats/text.ts";
import type { Environment } from "../../shared/server/read-settings.ts";

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

/** The width of help and progress that are not written to a terminal, in columns. */
const DEFAULT_WIDTH = 80;

/**
 * Returns the width at which text is wrapped or shortened: the environment variable COLUMNS, the width of the
 * terminal, or 80.
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

/**
 * Returns the width at which text is wrapped and tables are shortened on a terminal. As with kubectl and gh, output to
 * a pipe or a file is complete, even if COLUMNS is set: another program could not tell a shortened name from a complete
 * one.
 */
export function wrapWidthOf(stream: Parameters<typeof widthOf>[0], environment: Environment): number {
  return stream.isTTY === true ? widthOf(stream, environment) : Infinity;
}

/** Matches a command that users copy: one in backticks, or one that starts with the name of a program. */
const COPIED = /`[^`]+`|\b(?:kubectl|helm|aws|ack-role-resolver) [\w./:=|-]+(?: [\w./:=|-]+)*/g;
/** Stands for a space at which a line is not broken. Printable text does not contain it. */
const KEPT_SPACE = "\u0000";

/**
 * Breaks lines at spaces so that they fit the width, if their words do. The rest of a line is indented more. A command
 * is never broken.
 */
export function wrapLines(lines: readonly string[], width: number): string[] {
  if (width === Infinity) return [...lines];
  return lines.flatMap((line) => {
    const [indent = ""] = /^ */.exec(line) ?? [];
    const wrapped = [""];
    const text = line.slice(indent.length).replaceAll(COPIED, (command) => command.replaceAll(" ", KEPT_SPACE));
    for (const word of text.split(/ (?=\S)/)) {
      const before = wrapped.at(-1) ?? "";
      const start = before === "" ? `${indent}${wrapped.length > 1 ? "  " : ""}` : `${before} `;
      const isTooLong = before !== "" && stripVTControlCharacters(start + word).length > width;
      if (isTooLong) wrapped.push(`${indent}  ${word}`);
      else wrapped[wrapped.length - 1] = start + word;
    }
    return wrapped.map((one) => one.replaceAll(KEPT_SPACE, " "));
  });
}

interface TableLayout {
  /** The alignment of each column. Default: left. */
  readonly alignment?: readonly ("left" | "right")[];
  /** The maximum width of a line. Default: no limit. */
  readonly width?: number;
  /**
   * The index of the first detail column. Detail columns are shortened before the other columns. Default: no details.
   */
  readonly firstDetail?: number;
}

const GAP = "  ";
/** The width at which other columns are shortened before a detail column. */
const DETAIL_WIDTH = 24;
const MIN_DETAIL_WIDTH = 14;
const MIN_COLUMN_WIDTH = 8;

/**
 * Returns a line for each row, with two spaces between columns. The first row is the header. If the lines would be too
 * wide, shortens the longest cells with "…"; a role loses its account before its name. Control characters in cells are
 * escaped, so colors must be added afterwards.
 */
export function formatTable(
  cells: readonly (readonly string[])[],
  { alignment = [], width = Infinity, firstDetail = Infinity }: TableLayout = {},
): string[] {
  const rows = cells.map((row) => row.map(printable));
  const columns = (rows[0] ?? []).map((_, column) => rows.map((row) => row[column] ?? ""));
  const widths = fittedWidths(columns, width, firstDetail);
  const aligned = columns.map((column, i) => {
    const columnWidth = widths[i] ?? 0;
    const shortened = i < firstDetail
      ? shortenAll(column, columnWidth)
      : column.map((cell) => shorten(cell.length > columnWidth ? nameOfRole(cell) : cell, columnWidth, 1));
    return shortened.map((cell) => alignment[i] === "right" ? cell.padStart(columnWidth) : cell.padEnd(columnWidth));
  });
  return rows.map((_, row) => aligned.map((column) => column[row] ?? "").join(GAP).trimEnd());
}

function widestOf(cells: readonly string[]): number {
  return cells.reduce((widest, cell) => Math.max(widest, cell.length), 0);
}

/** Returns `…/NAME` for a role `ACCOUNT/NAME`, and any other text unchanged. */
function nameOfRole(cell: string): string {
  return cell.replace(/^[0-9]{12}\//, "…/");
}

/**
 * Returns the widths at which the columns fit in a line. Shortens the widest detail columns first, as far as the names
 * in them are complete or have 24 characters; then the widest other columns, and then the details again.
 */
function fittedWidths(
  columns: readonly (readonly string[])[], lineWidth: number, firstDetail: number,
): readonly number[] {
  const available = lineWidth - GAP.length * (columns.length - 1);
  const names = Math.min(DETAIL_WIDTH, widestOf(columns.slice(firstDetail).flat().map(nameOfRole)));
  const isDetail = (column: number): boolean => column >= firstDetail;
  const steps = [
    { min: Math.max(names, MIN_DETAIL_WIDTH), applies: isDetail },
    { min: MIN_COLUMN_WIDTH, applies: (column: number) => !isDetail(column) },
    { min: MIN_DETAIL_WIDTH, applies: isDetail },
  ];
  return steps.reduce(
    (widths, step) => limitWidths(widths, available, step), columns.map(widestOf) as readonly number[],
  );
}

/**
 * Shortens the widest columns for which `applies` returns true, until the sum of all widths is at most `available` or
 * these columns have the width `min`.
 */
function limitWidths(
  widths: readonly number[], available: number,
  { min, applies }: { readonly min: number; readonly applies: (column: number) => boolean },
): readonly number[] {
  const limited = (limit: number): number[] => (
    widths.map((width, column) => (applies(column) ? Math.min(width, limit) : width))
  );
  let limit = Math.max(min, ...widths);
  while (limit > min && limited(limit).reduce((sum, width) => sum + width, 0) > available) limit--;
  return limited(limit);
}

/** The fractions of a shortened cell that can precede the "…". */
const HEAD_SHARES = [0.5, 0.75, 1, 0.25, 0];

/**
 * Shortens the cells that are longer than `width`. Removes the same part of each cell: the part whose removal leaves
 * the most distinct cells, because the names in a column often have a common start or end.
 */
function shortenAll(cells: readonly string[], width: number): readonly string[] {
  if (cells.every((cell) => cell.length <= width)) return cells;
  const candidates = HEAD_SHARES.map((share) => cells.map((cell) => shorten(cell, width, share)));
  return candidates.reduce((best, other) => (new Set(other).size > new Set(best).size ? other : best));
}

function shorten(text: string, width: number, headShare: number): string {
  if (text.length <= width) return text;
  const head = Math.ceil((width - 1) * headShare);
  return `${text.slice(0, head)}…${text.slice(text.length - (width - 1 - head))}`.toWellFormed();
}
