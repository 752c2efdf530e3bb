import { parseJSON } from "../../shared/formats/json.ts";
import { LIMITS } from "../../shared/core/limits.ts";

/** The positions of the first byte of a value, and of the byte after its last byte. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

export interface ScannedReview {
  /**
   * Null if the JSON text is complete and does not have too many values. Otherwise, the number of bytes before the
   * first key `object` or `oldObject` of the request. If the text has too many values even before these keys, the
   * number of bytes before `userInfo`, because an impersonated user can have very many groups. 0 if the text contains
   * no such key.
   */
  readonly headBytes: number | null;
  /** The lists `metadata.managedFields` of the objects, whose values are not counted. */
  readonly managedFields: readonly Range[];
}

const MAX_VALUES = LIMITS.reviewValues.value;
const [QUOTE = 0, BACKSLASH = 0, COLON = 0, SPACE = 0, LIST = 0] = Buffer.from('"\\: [');
/** Maps each byte to the change of the nesting depth that this byte causes outside of strings. */
const DEPTH_CHANGE = byteTable({ "[": 1, "{": 1, "]": -1, "}": -1 });
/** Contains 1 for each byte after which a value can start, outside of strings. */
const PRECEDES_VALUE = byteTable({ "[": 1, "{": 1, ",": 1 });

/** The nesting depths of the fields of `request`, and of the fields in the metadata of its objects. */
const [REQUEST_DEPTH, METADATA_DEPTH] = [2, 4] as const;
const MANAGED_FIELDS = "managedFields";
const OBJECTS: ReadonlySet<string> = new Set(["object", "oldObject"]);

/** Counts the values of an AdmissionReview, and finds its parts, without parsing it. Takes time linear in its size. */
export function scanReview(json: Buffer, isComplete: boolean): ScannedReview {
  const keys = new Keys();
  let [depth, values] = [0, 0];
  for (let i = 0; i < json.length; i++) {
    const byte = json[i] ?? 0;
    depth += DEPTH_CHANGE[byte] ?? 0;
    values += valuesAfter(json, i);
    if (values > MAX_VALUES) return { headBytes: keys.headBytes, managedFields: [] };
    if (byte !== QUOTE) continue;
    i = keys.readString(json, i, depth);
    if (!isComplete && keys.objectBytes > 0) break;
  }
  return { headBytes: isComplete ? null : keys.headBytes, managedFields: keys.managedFields };
}

/** Parses the first `bytes` bytes of a review, which end before a key of the request. Otherwise, returns undefined. */
export function readHead(review: Buffer, bytes: number): unknown {
  return parseJSON(`${review.toString("utf8", 0, bytes).trimEnd().replace(/,$/, "")}}}`);
}

/** The keys that lead to the current position. */
class Keys {
  objectBytes = 0;
  #userBytes = 0;
  /** The last key at each depth. */
  readonly #last = ["", "", "", "", ""];
  readonly managedFields: Range[] = [];

  get headBytes(): number {
    return this.objectBytes === 0 ? this.#userBytes : this.objectBytes;
  }

  /**
   * Reads the string at `start`, which may be a key. Returns the position of its closing quote, or of the end of the
   * list if the string is the key `managedFields` of the metadata of an object.
   */
  readString(json: Buffer, start: number, depth: number): number {
    const end = endOfString(json, start);
    if (depth < REQUEST_DEPTH || depth > METADATA_DEPTH || json[afterSpaces(json, end + 1)] !== COLON) return end;
    const key = end - start > MANAGED_FIELDS.length + 1 ? "" : json.toString("latin1", start + 1, end);
    this.#last[depth] = key;
    if (depth === REQUEST_DEPTH) this.#addHead(key, start);
    const list = this.#isManagedFields(depth) ? listAfter(json, end) : null;
    if (list === null) return end;
    this.managedFields.push(list);
    return list.end - 1;
  }

  #addHead(key: string, start: number): void {
    if (this.objectBytes === 0 && OBJECTS.has(key)) this.objectBytes = start;
    if (this.#userBytes === 0 && key === "userInfo") this.#userBytes = start;
  }

  #isManagedFields(depth: number): boolean {
    const [, , ofRequest = "", ofObject, ofMetadata] = this.#last;
    const isMetadata = depth === METADATA_DEPTH && ofObject === "metadata" && OBJECTS.has(ofRequest);
    return isMetadata && ofMetadata === MANAGED_FIELDS;
  }
}

/** Returns the list after the key whose closing quote is at `end`, or null if its value is not a complete list. */
function listAfter(json: Buffer, end: number): Range | null {
  const start = afterSpaces(json, afterSpaces(json, end + 1) + 1);
  if (json[start] !== LIST) return null;
  let depth = 0;
  for (let i = start; i < json.length; i++) {
    depth += DEPTH_CHANGE[json[i] ?? 0] ?? 0;
    if (depth === 0) return { start, end: i + 1 };
    if (json[i] === QUOTE) i = endOfString(json, i);
  }
  return null;
}

/** The maximum number of characters between a key and its value. */
const MAX_SPACES = 10;

/** Returns the position of the first byte from `start` that is not a space. */
function afterSpaces(json: Buffer, start: number): number {
  let i = start;
  while (i < start + MAX_SPACES && (json[i] ?? 0) <= SPACE && i < json.length) i++;
  return i;
}

/**
 * Returns 1 if a value follows the byte at position `i`, else 0. No value follows the opening bracket of an empty
 * object or list.
 */
function valuesAfter(json: Buffer, i: number): number {
  return PRECEDES_VALUE[json[i] ?? 0] === 1 && DEPTH_CHANGE[json[i + 1] ?? 0] !== -1 ? 1 : 0;
}

function byteTable(values: Readonly<Record<string, number>>): Int8Array {
  const table = new Int8Array(256);
  for (const [character, value] of Object.entries(values)) table[character.charCodeAt(0)] = value;
  return table;
}

/** Returns the position of the closing quote of the string that starts at `start`. */
function endOfString(json: Buffer, start: number): number {
  let i = start + 1;
  while (i < json.length && json[i] !== QUOTE) i += json[i] === BACKSLASH ? 2 : 1;
  return i;
}
