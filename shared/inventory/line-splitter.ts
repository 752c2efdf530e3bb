import { ListWatchFault } from "./list-watch-fault.ts";

/** etcd holds objects of up to 1.5 MiB by default; what is ten times as long is no watch event. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;
const NEWLINE = 0x0a;

/** Cuts a stream of bytes into lines. A line is decoded only when it is whole, so a chunk may end inside a character. */
export class LineSplitter {
  #pending: Buffer[] = [];
  #pendingBytes = 0;

  /** The lines that `chunk` completes, without their newlines. Throws on a line of over 16 MiB, which only a new list leads past. */
  push(chunk: Buffer): string[] {
    const lines: string[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      lines.push(this.#line(chunk.subarray(start, end)));
      start = end + 1;
    }
    this.#keep(chunk.subarray(start));
    return lines;
  }

  #line(last: Buffer): string {
    const line = this.#pending.length === 0 ? last : Buffer.concat([...this.#pending, last]);
    this.#pending = [];
    this.#pendingBytes = 0;
    return line.toString("utf8");
  }

  #keep(rest: Buffer): void {
    if (rest.length === 0) return;
    this.#pending.push(rest);
    this.#pendingBytes += rest.length;
    if (this.#pendingBytes > MAX_LINE_BYTES) throw new ListWatchFault(`the API server sent a line of over ${MAX_LINE_BYTES} bytes; listing again`, "relist");
  }
}
