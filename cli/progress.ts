import type { IO } from "./io.ts";

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
