import { styleText } from "node:util";
import { printable } from "../shared/decisions/kubernetes/text.ts";
import type { Environment } from "../shared/server/settings.ts";
import type { IO } from "./io.ts";

type Style = "red" | "yellow" | "green" | "cyan" | "dim" | "bold";
export type Paint = (style: Style, text: string) => string;

/** Colour on a terminal, unless NO_COLOR (https://no-color.org) or a dumb terminal says otherwise; plain text elsewhere. */
export function painter(stream: { readonly isTTY?: boolean }, environment: Environment): Paint {
  const plain = stream.isTTY !== true || (environment["NO_COLOR"] ?? "") !== "" || environment["TERM"] === "dumb";
  return plain ? (_style, text) => text : (style, text) => styleText(style, text, { validateStream: false });
}

/**
 * Rows as columns two spaces apart, the first row being the heads. Columns are left-aligned but those that `alignment` says otherwise
 * of. What cannot be seen in a cell is escaped, so cells are painted afterwards.
 */
export function formatTable(cells: readonly (readonly string[])[], alignment: readonly ("left" | "right")[] = []): string[] {
  const rows = cells.map((row) => row.map(printable));
  const widths = (rows[0] ?? []).map((_, column) => rows.reduce((width, row) => Math.max(width, (row[column] ?? "").length), 0));
  const align = (cell: string, column: number): string => {
    const width = widths[column] ?? 0;
    return alignment[column] === "right" ? cell.padStart(width) : cell.padEnd(width);
  };
  return rows.map((row) => row.map(align).join("  ").trimEnd());
}

/** Work that is done by then is not worth a line. */
const SILENT_MS = 1000;
const BETWEEN_MS = 100;
/** Back to the line's start, and the rest of it away (ECMA-48 EL). */
const CLEAR = "\r\u001B[K";

/** One line of standard error that tells how far a long piece of work is; nothing where that is no terminal. */
export class Progress {
  readonly #stream: IO["stderr"];
  readonly #now: () => number;
  #next: number;
  #shown = false;

  constructor(stream: IO["stderr"], now: () => number = () => performance.now()) {
    this.#stream = stream;
    this.#now = now;
    this.#next = now() + SILENT_MS;
  }

  tell(text: string): void {
    if (this.#stream.isTTY !== true || this.#now() < this.#next) return;
    this.#next = this.#now() + BETWEEN_MS;
    this.#shown = true;
    this.#stream.write(`${CLEAR}${text}`);
  }

  /** Takes the line away again, so that nothing is written beside it. */
  end(): void {
    if (this.#shown) this.#stream.write(CLEAR);
    this.#shown = false;
  }
}
