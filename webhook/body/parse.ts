import type { Readable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { ResolverError } from "../../shared/decisions/errors.ts";
import { parseJSON } from "../../shared/decisions/kubernetes/json.ts";
import { LIMITS } from "../../shared/decisions/limits.ts";
import type { LargeBodies } from "./large-bodies.ts";
import { type ReceivedBody, ReviewUpload } from "./receive.ts";
import { type Range, readHead, type ScannedReview, scanReview } from "./scan.ts";

/** The parsed body of an AdmissionReview. */
export interface ReviewBody {
  /** If a part of the body is not parsed, `request` contains only the fields before `object` and `oldObject`. */
  readonly json: unknown;
  /** A clause that states which limit the body exceeds; null if the body exceeds no limit. */
  readonly excess: string | null;
  /** Whether the webhook discarded a part of the body, because it stores too many large bodies. */
  readonly isDiscarded: boolean;
}

const MAX_VALUES = LIMITS.reviewValues.value;
const SHORT: ScannedReview = { headBytes: null, managedFields: [] };
const EXPECTED = "Send an AdmissionReview of admission.k8s.io/v1 as JSON.";

// A request decorator. See route.ts.
const UPLOAD = "upload";

/** Replaces all parsers of request bodies by a parser that accepts only AdmissionReviews as JSON. */
export function acceptReviewBodies(app: FastifyInstance, bodies: LargeBodies): void {
  app.decorateRequest(UPLOAD, null);
  app.addHook("onRequest", (request, reply, done) => {
    const upload = new ReviewUpload(request.raw, bodies);
    request.setDecorator(UPLOAD, upload);
    reply.raw.once("close", () => upload.end());
    done();
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", async (request: FastifyRequest, payload: Readable) => (
    parseReviewBody(await request.getDecorator<ReviewUpload>(UPLOAD).receive(payload))
  ));
}

/**
 * Parses the body of a review. Does not parse the objects of a body that is too large or has too many values, because
 * `JSON.parse` blocks the event loop for up to 0.8 s for 7 MiB of small values. The result still identifies the
 * request, because the API server sends the fields that identify the request before the objects. Of a large body that
 * is parsed, `managedFields` are empty: no check reads them, and they do not count as values. Rejects with
 * ERR_REQUEST_MALFORMED or ERR_REQUEST_TOO_LARGE.
 */
export async function parseReviewBody({ bytes, missing }: ReceivedBody): Promise<ReviewBody> {
  if (bytes.length === 0) throw malformed(`The body is empty. ${EXPECTED}`);
  const isComplete = missing === null;
  const excess = isComplete
    ? `the review has more than ${MAX_VALUES} values`
    : `the review is larger than ${LIMITS.reviewBytes.value} bytes`;
  // A short body cannot exceed the limit of values, because each value takes at least one byte.
  const { headBytes, managedFields } = isComplete && bytes.length <= MAX_VALUES ? SHORT : scanReview(bytes, isComplete);
  if (headBytes !== null) {
    const isDiscarded = missing === "discarded";
    return { json: parseHead(bytes, headBytes, excess), excess: isDiscarded ? null : excess, isDiscarded };
  }
  const json = parseJSON(textWithout(bytes, managedFields));
  if (json === undefined) throw malformed(`The body is not JSON. ${EXPECTED}`);
  if (json === null) throw malformed(`The body is empty. ${EXPECTED}`);
  // Lets other requests run between the parsing and the checks of a large object, because both block the event loop.
  if (bytes.length > MAX_VALUES) await nextTurn();
  return { json, excess: null, isDiscarded: false };
}

/** Returns the text of the body, with empty lists at the given positions. */
function textWithout(body: Buffer, lists: readonly Range[]): string {
  let [text, at] = ["", 0];
  for (const { start, end } of lists) {
    text += `${body.toString("utf8", at, start)}[]`;
    at = end;
  }
  return text + body.toString("utf8", at);
}

/** Parses the first `bytes` bytes of the body, which end before a key of the request. */
function parseHead(body: Buffer, bytes: number, excess: string): unknown {
  const json = readHead(body, bytes);
  if (json !== undefined) return json;
  const message = `The request cannot be identified: ${excess}, and request.object precedes other fields.`;
  throw new ResolverError("ERR_REQUEST_TOO_LARGE", message);
}

function malformed(message: string): ResolverError {
  return new ResolverError("ERR_REQUEST_MALFORMED", message);
}
