import { setImmediate as nextTurn } from "node:timers/promises";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { ResolverError } from "../shared/decisions/errors.ts";
import { parseJSON } from "../shared/decisions/kubernetes/json.ts";
import { LIMITS } from "../shared/decisions/limits.ts";

/** The parsed body of an AdmissionReview. */
export interface ReviewBody {
  /** If the body exceeds a limit, `request` contains only the fields before `object` and `oldObject`. */
  readonly json: unknown;
  /** The limit that the body exceeds, as a clause; null if it exceeds none. */
  readonly excess: string | null;
}

const MAX_VALUES = LIMITS.reviewValues.value;
const EXPECTED = "Send an AdmissionReview of admission.k8s.io/v1 as JSON.";

/** Accepts only AdmissionReviews as JSON: replaces all parsers of request bodies. */
export function acceptReviewBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    "application/json", { parseAs: "buffer" }, (_request: FastifyRequest, body: Buffer) => parseReviewBody(body),
  );
}

/**
 * Parses the body of a review. Does not parse the objects of a body that has too many values, because `JSON.parse`
 * blocks the event loop for up to 0.8 s for 7 MiB of small values. The API server sends the fields that identify the
 * request first. Rejects with ERR_REQUEST_MALFORMED or ERR_REQUEST_TOO_LARGE.
 */
export async function parseReviewBody(body: Buffer): Promise<ReviewBody> {
  if (body.length === 0) throw malformed(`The body is empty. ${EXPECTED}`);
  // Each value takes at least one byte.
  const headBytes = body.length <= MAX_VALUES ? null : headOfExcess(body);
  if (headBytes !== null) {
    return { json: parseHead(body, headBytes), excess: `the review has more than ${MAX_VALUES} values` };
  }
  const json = parseJSON(body.toString());
  if (json === undefined) throw malformed(`The body is not JSON. ${EXPECTED}`);
  if (json === null) throw malformed(`The body is empty. ${EXPECTED}`);
  // The checks of a large object must not add to the block of its parsing.
  if (body.length > MAX_VALUES) await nextTurn();
  return { json, excess: null };
}

/** Parses the first bytes of the body, up to the key `object` or `oldObject` of the request. */
function parseHead(body: Buffer, bytes: number): unknown {
  const json = parseJSON(`${body.toString("utf8", 0, bytes).trimEnd().replace(/,$/, "")}}}`);
  if (json !== undefined) return json;
  const message = `The body has more than ${MAX_VALUES} values, and request.object does not follow the other fields.`;
  throw new ResolverError("ERR_REQUEST_TOO_LARGE", message);
}

const [QUOTE = 0, BACKSLASH = 0] = Buffer.from('"\\');
/** The maximum length of the separator of a key and its value. */
const MAX_SPACES = 10;
/** For each byte outside strings, how the byte changes the nesting depth. */
const DEPTH_CHANGE = byteTable({ "[": 1, "{": 1, "]": -1, "}": -1 });
/** For each byte outside strings, whether a value of an object or a list can follow the byte. */
const PRECEDES_VALUE = byteTable({ "[": 1, "{": 1, ",": 1 });
/** The nesting depth of the fields of `request`. */
const REQUEST_DEPTH = 2;

/**
 * Returns null if the JSON text has at most the limit of values. Otherwise, returns the number of bytes before the key
 * `object` or `oldObject`, or 0 if the text contains neither. Stops at the limit.
 */
function headOfExcess(json: Buffer): number | null {
  let [depth, values, head] = [0, 0, 0];
  for (let i = 0; i < json.length; i++) {
    const byte = json[i] ?? 0;
    depth += DEPTH_CHANGE[byte] ?? 0;
    values += PRECEDES_VALUE[byte] ?? 0;
    if (values > MAX_VALUES) return head;
    if (byte !== QUOTE) continue;
    const end = endOfString(json, i);
    if (head === 0 && depth === REQUEST_DEPTH && isKeyOfObject(json, i, end)) head = i;
    i = end;
  }
  return null;
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

/** Returns whether the string from `start` to `end`, the positions of its quotes, is the key of an object. */
function isKeyOfObject(json: Buffer, start: number, end: number): boolean {
  const length = end - start + 1;
  if (length !== '"object"'.length && length !== '"oldObject"'.length) return false;
  return /^"(object|oldObject)"\s*:/.test(json.toString("latin1", start, end + MAX_SPACES));
}

function malformed(message: string): ResolverError {
  return new ResolverError("ERR_REQUEST_MALFORMED", message);
}
