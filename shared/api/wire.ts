import { field, parseJSON, stringAt } from "../formats/json.ts";
import {
  resourceName, type StoredObject, toStoredObject, type WatchedKind,
} from "./watched-kind.ts";
import { ListWatchError } from "./api-errors.ts";
import type { Page } from "./api.ts";

/** Returns the time in the format of Kubernetes' MicroTime. `ms` is the time since the Unix epoch. */
export function microTime(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000Z");
}

/** The maximum length of a watch event, in bytes: over ten times etcd's default limit of 1.5 MiB for an object. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;
const NEWLINE = 0x0a;

/**
 * Splits a byte stream into lines. Decodes only complete lines, because a chunk can end in the middle of a UTF-8
 * character.
 */
export class LineSplitter {
  #pending: Buffer[] = [];
  #pendingBytes = 0;

  /** Returns the lines that `chunk` completes, excluding newlines. Throws a ListWatchError if a line exceeds 16 MiB. */
  push(chunk: Buffer): string[] {
    const lines: string[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      lines.push(this.#completeLine(chunk.subarray(start, end)));
      start = end + 1;
    }
    this.#store(chunk.subarray(start));
    return lines;
  }

  #completeLine(last: Buffer): string {
    const line = this.#pending.length === 0 ? last : Buffer.concat([...this.#pending, last]);
    this.#pending = [];
    this.#pendingBytes = 0;
    return line.toString("utf8");
  }

  #store(rest: Buffer): void {
    if (rest.length === 0) return;
    this.#pending.push(rest);
    this.#pendingBytes += rest.length;
    if (this.#pendingBytes <= MAX_LINE_BYTES) return;
    const message = `the API server sent a watch event larger than ${MAX_LINE_BYTES} bytes; relisting`;
    throw new ListWatchError(message, "relist");
  }
}

/** One page of a list of objects. */
export interface ListPage extends Page {
  readonly objects: readonly StoredObject[];
  readonly resourceVersion: string;
}

/**
 * A parsed watch event. PUT combines ADDED and MODIFIED, because a resumed watch can report a known object as ADDED.
 * DELETED also means that a change made the object one that no decision reads.
 */
type WatchEvent =
  | { readonly type: "PUT"; readonly resourceVersion: string; readonly object: StoredObject }
  | { readonly type: "DELETED"; readonly resourceVersion: string; readonly namespace: string; readonly name: string }
  | { readonly type: "BOOKMARK"; readonly resourceVersion: string }
  | { readonly type: "ERROR"; readonly status: unknown };

/** Parses one page of a list. Throws a ListWatchError if `text` is not a list. */
export function readPage(kind: WatchedKind, text: string): ListPage {
  const list = parseJSON(text);
  const items = field(list, "items") ?? [];
  const resourceVersion = stringAt(list, "metadata", "resourceVersion");
  if (resourceVersion === null || !Array.isArray(items)) throw unreadable(kind, "list");
  const objects = items.map((item) => toStoredObject(kind, item) ?? fail(unreadable(kind, "list")));
  return {
    objects: objects.filter(({ object }) => object !== null),
    resourceVersion,
    continuation: stringAt(list, "metadata", "continue") ?? "",
  };
}

/** Parses one watch event. Throws a ListWatchError if the line is not an event: the reflector must then list again. */
export function readEvent(kind: WatchedKind, line: string): WatchEvent {
  const event = parseJSON(line);
  const type = stringAt(event, "type");
  const value = field(event, "object");
  if (type === "ERROR") return { type, status: value };
  const resourceVersion = stringAt(value, "metadata", "resourceVersion");
  if (resourceVersion === null) throw unreadable(kind, "watch");
  if (type === "BOOKMARK") return { type, resourceVersion };
  const object = toStoredObject(kind, value) ?? fail(unreadable(kind, "watch"));
  if (type !== "DELETED" && type !== "ADDED" && type !== "MODIFIED") throw unreadable(kind, "watch");
  if (type !== "DELETED" && object.object !== null) return { type: "PUT", resourceVersion, object };
  return { type: "DELETED", resourceVersion, namespace: object.namespace, name: object.name };
}

function unreadable(kind: WatchedKind, verb: "list" | "watch"): ListWatchError {
  const message = `the ${verb} response for ${resourceName(kind)} cannot be parsed; relisting`;
  return new ListWatchError(message, "relist");
}

function fail(error: Error): never {
  throw error;
}
