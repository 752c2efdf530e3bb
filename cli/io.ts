import type { Readable, Writable } from "node:stream";
import { type NoticedSettings, startNotices } from "../shared/contract/removed-settings.ts";
import type { Environment } from "../shared/server/read-settings.ts";

/** An output stream. `columns` is the width of the terminal, if the stream is a terminal. */
export type TextStream = Writable & { readonly isTTY?: boolean; readonly columns?: number | undefined };

/** The streams and the environment that a command uses. Tests pass their own streams. */
export interface IO {
  readonly stdin: Readable;
  /** Data only. */
  readonly stdout: TextStream;
  /** Errors, warnings and progress. */
  readonly stderr: TextStream;
  readonly environment: Environment;
  /** Whether the program runs as a plugin of kubectl. Default: false. */
  readonly isPlugin?: boolean;
}

/** The exit statuses of every command. */
export const EXIT = { fine: 0, findings: 1, usage: 2 } as const;
export type ExitStatus = (typeof EXIT)[keyof typeof EXIT];

export function writeLines(stream: Writable, lines: readonly string[]): void {
  for (const line of lines) stream.write(`${line}\n`);
}

/** Writes the warnings about the settings of a command to stderr. */
export function writeStartNotices(settings: NoticedSettings, io: IO): void {
  writeLines(io.stderr, startNotices(settings).map((notice) => `warning: ${notice}`));
}

/** Writes the result of a command, in the format of `-o json`. */
export function writeJSON({ stdout }: Pick<IO, "stdout">, value: unknown): void {
  stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

/**
 * Writes a list as JSON, with one item in each line: all items together can be longer than a string, and indented ones
 * take twice the time and the room.
 */
export class JSONListWriter {
  readonly #stdout: Writable;
  #isEmpty = true;

  constructor({ stdout }: Pick<IO, "stdout">) {
    this.#stdout = stdout;
  }

  add(item: unknown): void {
    this.#stdout.write(`${this.#isEmpty ? "[" : ","}\n${JSON.stringify(item)}`);
    this.#isEmpty = false;
  }

  end(): void {
    this.#stdout.write(this.#isEmpty ? "[]\n" : "\n]\n");
  }
}
