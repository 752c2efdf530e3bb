import { type Readable, Writable } from "node:stream";
import { type DecisionSettings, startNotices } from "../shared/core/context.ts";
import type { Environment } from "../shared/server/read-settings.ts";
import { wrapLines, wrapWidthOf } from "./output/terminal.ts";

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

/** Returns the stream, which changes each text before it writes it. Bytes stay as they are. */
export function rewriting(stream: TextStream, rewrite: (text: string) => string): TextStream {
  const write = (output: string | Uint8Array, done?: () => void): boolean => (
    stream.write(typeof output === "string" ? rewrite(output) : output, done)
  );
  return new Proxy(stream, {
    get(target, key): unknown {
      if (key === "write") return write;
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** Writes lines of text, wrapped at the width of the terminal. */
export function writeText(
  stream: TextStream, lines: readonly string[], { environment }: Pick<IO, "environment">,
): void {
  writeLines(stream, wrapLines(lines, wrapWidthOf(stream, environment)));
}

/** The verbosity of a command. */
export interface LogSettings {
  readonly logLevel: "debug" | "info" | "warn" | "error";
}

/** Returns the streams for what a user can do without. With `--quiet`, nothing of it is written to stderr. */
export function withoutNotes(io: IO, settings: LogSettings): IO {
  if (!isQuiet(settings)) return io;
  return { ...io, stderr: new Writable({ write: (_chunk, _encoding, done) => done() }) };
}

/** Whether only results, findings and errors are printed. */
export function isQuiet({ logLevel }: LogSettings): boolean {
  return logLevel === "error";
}

/** Whether each finding is printed, and what was skipped or not judged. */
export function isVerbose({ logLevel }: LogSettings): boolean {
  return logLevel === "debug";
}

export function writeLines(stream: Writable, lines: readonly string[]): void {
  for (const line of lines) stream.write(`${line}\n`);
}

/**
 * Resolves at once while the buffer of the stream has room, otherwise after its reader has taken everything, or has
 * closed the stream. A command that writes its results one by one awaits it, because what a slow reader has not taken
 * stays in memory.
 */
export async function drained(stream: Writable): Promise<void> {
  // Standard output does not emit `drain` after its reader has closed it, but still calls each callback.
  if (stream.writableNeedDrain) await new Promise((resolve) => { stream.write("", resolve); });
}

/** Writes the warnings about the settings of a command to stderr. */
export function writeStartNotices(settings: Pick<DecisionSettings, "runtime">, io: IO): void {
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
  /** What is not written yet, because a call for each item takes more time than the items. */
  #text = "";

  constructor({ stdout }: Pick<IO, "stdout">) {
    this.#stdout = stdout;
  }

  /** Adds an item, which is a JSON text. */
  add(item: string): void {
    this.#text += `${this.#isEmpty ? "[" : ","}\n${item}`;
    this.#isEmpty = false;
    if (this.#text.length > CHUNK_LENGTH) this.#write();
  }

  end(): void {
    this.#text += this.#isEmpty ? "[]\n" : "\n]\n";
    this.#write();
  }

  #write(): void {
    this.#stdout.write(this.#text);
    this.#text = "";
  }
}

const CHUNK_LENGTH = 256 * 1024;
