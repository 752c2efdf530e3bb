import { styleText } from "node:util";
import { printable } from "../shared/decisions/kubernetes/text.ts";
import type { Environment } from "../shared/server/settings.ts";
import type { IO } from "./io.ts";

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

/**
 * Returns a line for each row, with two spaces between columns. The first row is the header. Columns are left-aligned
 * by default. Control characters in cells are escaped, so colors must be added afterwards.
 */
export function formatTable(
  cells: readonly (readonly string[])[], alignment: readonly ("left" | "right")[] = [],
): string[] {
  const rows = cells.map((row) => row.map(printable));
  const widths = (rows[0] ?? []).map((_, column) =>
    rows.reduce((width, row) => Math.max(width, (row[column] ?? "").length), 0));
  const align = (cell: string, column: number): string => {
    const width = widths[column] ?? 0;
    return alignment[column] === "right" ? cell.padStart(width) : cell.padEnd(width);
  };
  return rows.map((row) => row.map(align).join("  ").trimEnd());
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

/** The time from the start of the work to the first progress line, in ms. */
const DELAY_MS = 1000;
const INTERVAL_MS = 100;
/** The control sequence that returns to the start of the line and erases the line (ECMA-48 EL). */
const CLEAR = "\r\u001B[K";

/** A progress line on standard error. The line is shown only on a terminal. */
export class Progress {
  readonly #stream: IO["stderr"];
  readonly #now: () => number;
  #next: number;
  #shown = false;

  constructor(stream: IO["stderr"], now: () => number = () => performance.now()) {
    this.#stream = stream;
    this.#now = now;
    this.#next = now() + DELAY_MS;
  }

  update(text: string): void {
    if (this.#stream.isTTY !== true || this.#now() < this.#next) return;
    this.#next = this.#now() + INTERVAL_MS;
    this.#shown = true;
    this.#stream.write(`${CLEAR}${text}`);
  }

  /** Erases the progress line. Call `clear` before writing other output. */
  clear(): void {
    if (this.#shown) this.#stream.write(CLEAR);
    this.#shown = false;
  }
}
