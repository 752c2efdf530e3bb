import { field, parseJSON, stringAt } from "../../decisions/kubernetes/json.ts";
import { ListWatchFault } from "./errors.ts";
import { toStoredObject, type StoredObject, resourceName, type WatchedKind } from "./watched-kind.ts";

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

/** A page of a list; `continuation` asks for the next, "" on the last. */
export interface ListPage {
  readonly objects: readonly StoredObject[];
  readonly resourceVersion: string;
  readonly continuation: string;
}

/** An event of a watch: ADDED and MODIFIED are one to us, since a resumed watch may tell of what is known. */
export type WatchEvent =
  | { readonly type: "PUT"; readonly resourceVersion: string; readonly object: StoredObject }
  | { readonly type: "DELETED"; readonly resourceVersion: string; readonly namespace: string; readonly name: string }
  | { readonly type: "BOOKMARK"; readonly resourceVersion: string }
  | { readonly type: "ERROR"; readonly status: unknown };

/** Reads page after page; `read` takes what the page's query ends with. The version is the last page's, which is that of all. */
export async function listAll(read: (query: string) => Promise<ListPage>): Promise<Omit<ListPage, "continuation">> {
  const objects: StoredObject[] = [];
  let page = await read("");
  for (;;) {
    for (const object of page.objects) objects.push(object);
    if (page.continuation === "") return { objects, resourceVersion: page.resourceVersion };
    // Each page names the next.
    // oxlint-disable-next-line no-await-in-loop
    page = await read(`&continue=${encodeURIComponent(page.continuation)}`);
  }
}

/** Throws a fault that asks for a new list when the text is no list. */
export function readPage(kind: WatchedKind, text: string): ListPage {
  const list = parseJSON(text);
  const items = field(list, "items") ?? [];
  const resourceVersion = stringAt(list, "metadata", "resourceVersion");
  if (resourceVersion === null || !Array.isArray(items)) throw unreadable(kind, "list");
  const objects = items.map((item) => toStoredObject(kind, item) ?? fail(unreadable(kind, "list")));
  return { objects: objects.filter(({ object }) => object !== null), resourceVersion, continuation: stringAt(list, "metadata", "continue") ?? "" };
}

/** Throws a fault that asks for a new list when the line is no event: what it said is lost. */
export function readEvent(kind: WatchedKind, line: string): WatchEvent {
  const event = parseJSON(line);
  const type = stringAt(event, "type");
  const value = field(event, "object");
  if (type === "ERROR") return { type, status: value };
  const resourceVersion = stringAt(value, "metadata", "resourceVersion");
  if (resourceVersion === null) throw unreadable(kind, "watch");
  if (type === "BOOKMARK") return { type, resourceVersion };
  const object = toStoredObject(kind, value) ?? fail(unreadable(kind, "watch"));
  if (type === "DELETED") return { type, resourceVersion, namespace: object.namespace, name: object.name };
  if (type === "ADDED" || type === "MODIFIED") return { type: "PUT", resourceVersion, object };
  throw unreadable(kind, "watch");
}

function unreadable(kind: WatchedKind, verb: "list" | "watch"): ListWatchFault {
  return new ListWatchFault(`what the API server sent for ${verb} ${resourceName(kind)} cannot be read; listing again`, "relist");
}

function fail(error: Error): never {
  throw error;
}
