import type { IncomingMessage } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { ResolverError } from "../../shared/decisions/errors.ts";
import { parseJSON } from "../../shared/decisions/kubernetes/json.ts";
import { LIMITS } from "../../shared/decisions/limits.ts";
import { receiveBody, type ReceivedBody } from "./receive.ts";

/** The parsed body of an AdmissionReview. */
export interface ReviewBody {
  /** If the body exceeds a limit, `request` contains only the fields before `object` and `oldObject`. */
  readonly json: unknown;
  /** A clause that states which limit the body exceeds; null if the body exceeds no limit. */
  readonly excess: string | null;
}

const MAX_VALUES = LIMITS.reviewValues.value;
const EXPECTED = "Send an AdmissionReview of admission.k8s.io/v1 as JSON.";

/** Replaces all parsers of request bodies by a parser that accepts only AdmissionReviews as JSON. */
export function acceptReviewBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", async (request: FastifyRequest, payload: IncomingMessage) => (
    parseReviewBody(await receiveBody(request, payload))
  ));
}

/**
 * Parses the body of a review. Does not parse the objects of a body that is too large or has too many values, because
 * `JSON.parse` blocks the event loop for up to 0.8 s for 7 MiB of small values. The result still identifies the
 * request, because the API server sends the fields that identify the request before the objects. Rejects with
 * ERR_REQUEST_MALFORMED or ERR_REQUEST_TOO_LARGE.
 */
export async function parseReviewBody({ bytes, isComplete }: ReceivedBody): Promise<ReviewBody> {
  if (bytes.length === 0) throw malformed(`The body is empty. ${EXPECTED}`);
  const excess = isComplete
    ? `the review has more than ${MAX_VALUES} values`
    : `the review is larger than ${LIMITS.reviewBytes.value} bytes`;
  // A short body cannot exceed the limit of values, because each value takes at least one byte.
  const headBytes = bytes.length <= MAX_VALUES ? null : headOfExcess(bytes, isComplete);
  if (headBytes !== null) return { json: parseHead(bytes, headBytes, excess), excess };
  const json = parseJSON(bytes.toString());
  if (json === undefined) throw malformed(`The body is not JSON. ${EXPECTED}`);
  if (json === null) throw malformed(`The body is empty. ${EXPECTED}`);
  // Lets other requests run between the parsing and the checks of a large object, because both block the event loop.
  if (bytes.length > MAX_VALUES) await nextTurn();
  return { json, excess: null };
}

/** Parses the first `bytes` bytes of the body, which end before a key of the request. */
function parseHead(body: Buffer, bytes: number, excess: string): unknown {
  const json = parseJSON(`${body.toString("utf8", 0, bytes).trimEnd().replace(/,$/, "")}}}`);
  if (json !== undefined) return json;
  const message = `The request cannot be identified: ${excess}, and request.object precedes other fields.`;
  throw new ResolverError("ERR_REQUEST_TOO_LARGE", message);
}

const [QUOTE = 0, BACKSLASH = 0] = Buffer.from('"\\');
/** The maximum number of characters between a key and its value. */
const MAX_SPACES = 10;
/** Maps each byte to the change of the nesting depth that this byte causes outside of strings. */
const DEPTH_CHANGE = byteTable({ "[": 1, "{": 1, "]": -1, "}": -1 });
/** Contains 1 for each byte after which a value can start, outside of strings. */
const PRECEDES_VALUE = byteTable({ "[": 1, "{": 1, ",": 1 });
/** The nesting depth of the fields of `request`. */
const REQUEST_DEPTH = 2;

/**
 * The number of bytes before the first key `object` or `oldObject` of the request, and before its key `userInfo`. The
 * number is 0 if the request does not contain the key.
 */
interface Heads {
  object: number;
  user: number;
}

/**
 * Returns null if the JSON text is complete and does not have too many values. Otherwise, returns the number of bytes
 * before the first key `object` or `oldObject`. If the text has too many values even before these keys, returns the
 * number of bytes before `userInfo`, because an impersonated user can have very many groups. Returns 0 if the text
 * contains no such key.
 */
function headOfExcess(json: Buffer, isComplete: boolean): number | null {
  const heads: Heads = { object: 0, user: 0 };
  let [depth, values] = [0, 0];
  for (let i = 0; i < json.length; i++) {
    const byte = json[i] ?? 0;
    depth += DEPTH_CHANGE[byte] ?? 0;
    values += valuesAfter(json, i);
    if (values > MAX_VALUES) return bytesBefore(heads);
    if (byte !== QUOTE) continue;
    const end = endOfString(json, i);
    if (depth === REQUEST_DEPTH) addKey(heads, json, i, end);
    if (!isComplete && heads.object > 0) break;
    i = end;
  }
  return isComplete ? null : bytesBefore(heads);
}

function bytesBefore({ object, user }: Heads): number {
  return object === 0 ? user : object;
}

/**
 * Returns 1 if a value follows the byte at position `i`, else 0. No value follows the opening bracket of an empty
 * object or list, of which managedFields contain many.
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

const KEYS = { object: /^"(object|oldObject)"\s*:/, user: /^"userInfo"\s*:/ } as const;
const MAX_KEY_LENGTH = '"oldObject"'.length;

/**
 * Records the position of a string if it is the first key `object`, `oldObject` or `userInfo`. `start` and `end` are
 * the positions of its quotes.
 */
function addKey(heads: Heads, json: Buffer, start: number, end: number): void {
  if (end - start >= MAX_KEY_LENGTH) return;
  const key = json.toString("latin1", start, end + MAX_SPACES);
  if (heads.object === 0 && KEYS.object.test(key)) heads.object = start;
  if (heads.user === 0 && KEYS.user.test(key)) heads.user = start;
}

function malformed(message: string): ResolverError {
  return new ResolverError("ERR_REQUEST_MALFORMED", message);
}
