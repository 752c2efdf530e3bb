import type { ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { SteadyClock } from "../../shared/core/clock.ts";
import { LIMITS } from "../../shared/core/limits.ts";
import { ResolverError } from "../../shared/formats/errors.ts";
import { parseJSON, stringAt } from "../../shared/formats/json.ts";
import type { LargeBodies, LargeBody } from "./large-bodies.ts";
import { JoinedChunks } from "../../shared/server/joined-chunks.ts";
import { type Range, readHead, type ScannedReview, scanReview } from "./scan.ts";

/** The received body of an AdmissionReview. */
interface ReceivedBody {
  /** The body, or its start if a part is missing. */
  readonly bytes: Buffer;
  /** Why a part is missing: the body is too large, or the webhook stores too many large bodies. */
  readonly missing: "too large" | "discarded" | null;
}

const HEAD_BYTES = LIMITS.reviewHeadBytes.value;
const MAX_STORED = LIMITS.reviewBytes.value;

interface UploadPorts extends Pick<ReviewUpload, "startedMs"> {
  readonly bodies: LargeBodies;
}

/** The body of one review. Stores all of it, or only its start. */
class ReviewUpload {
  /** The time at which the headers of the request arrived, in ms of the steady clock. */
  readonly startedMs: number;
  readonly #bodies: LargeBodies;
  readonly #address: string;
  readonly #response: ServerResponse;
  /** Null if the headers do not state the size of the body. */
  readonly #announced: number | null;
  #chunks = new JoinedChunks(MAX_STORED);
  #size = 0;
  #missing: ReceivedBody["missing"] = null;
  #large: LargeBody | null = null;

  constructor({ raw: { headers, socket } }: FastifyRequest, reply: FastifyReply, { bodies, startedMs }: UploadPorts) {
    this.startedMs = startedMs;
    this.#response = reply.raw;
    const length = headers["transfer-encoding"] === undefined ? headers["content-length"] : undefined;
    this.#announced = length === undefined ? null : Number(length);
    this.#address = socket.remoteAddress ?? "";
    this.#bodies = bodies;
  }

  /**
   * Receives the body, and passes it to `done`, or an error such as ERR_REQUEST_MALFORMED. Calls `done` early if a part
   * is missing, because the start is sufficient to deny a review. Otherwise, a tenant could keep the webhook busy with
   * huge objects until the API server's timeout. Ignores the other bytes, but does not close the connection: the call
   * would fail if the API server is still sending the body, and the failurePolicy could admit the object.
   */
  receive(payload: Readable, done: (error: Error | null, body?: ReceivedBody) => void): void {
    let isDone = false;
    const end = (error: Error | null): void => {
      if (isDone) return;
      isDone = true;
      if (error === null) done(null, this.#received());
      else done(error);
    };
    payload.on("data", (chunk: Buffer) => {
      if (isDone) return;
      this.#add(chunk);
      if (this.#missing !== null) end(null);
    });
    payload.on("end", () => end(this.#missing === null ? this.#lengthError() : null));
    payload.on("error", (cause) => end(new ResolverError(
      "ERR_REQUEST_MALFORMED", "The connection ended before the whole body had arrived.", { cause },
    )));
  }

  #lengthError(): ResolverError | null {
    if (this.#announced === null || this.#announced === this.#size) return null;
    return new ResolverError(
      "ERR_REQUEST_MALFORMED", "The length of the body differs from the Content-Length header.",
    );
  }

  #received(): ReceivedBody {
    if (this.#large !== null) this.#bodies.complete(this.#large);
    const { bytes } = this.#chunks;
    this.#chunks = new JoinedChunks(MAX_STORED);
    return { bytes, missing: this.#missing };
  }

  #stopCounting(): void {
    if (this.#large !== null) this.#bodies.remove(this.#large);
  }

  #add(chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#missing !== null) return;
    this.#chunks.add(chunk);
    if (this.#size <= HEAD_BYTES) return;
    if (Math.max(this.#size, this.#announced ?? 0) > MAX_STORED) this.#discard("too large");
    else if (this.#large === null) this.#count();
  }

  #count(): void {
    const { bytes: start } = this.#chunks;
    const head = readHead(start, scanReview(start, false).headBytes ?? 0);
    const requester = stringAt(head, "request", "userInfo", "username") ?? "";
    const bytes = this.#announced ?? MAX_STORED;
    this.#large = { address: this.#address, requester, bytes, discard: () => this.#discard("discarded") };
    this.#bodies.add(this.#large);
    this.#response.once("close", () => this.#stopCounting());
  }

  #discard(reason: "too large" | "discarded"): void {
    this.#missing = reason;
    this.#chunks.cut(HEAD_BYTES);
    this.#stopCounting();
  }
}

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

// A request decorator. It is not declared on FastifyRequest, because the sidecar's requests do not have it:
// https://fastify.dev/docs/latest/Reference/Decorators/#getdecorator-t-api
const UPLOAD = "upload";

/** Returns the time at which the headers of the request arrived, in ms of the steady clock. */
export function startOf(request: FastifyRequest): number {
  return request.getDecorator<ReviewUpload>(UPLOAD).startedMs;
}

/** Replaces all parsers of request bodies by a parser that accepts only AdmissionReviews as JSON. */
export function acceptReviewBodies(
  app: FastifyInstance, bodies: LargeBodies, clock: Pick<SteadyClock, "steady">,
): void {
  app.decorateRequest(UPLOAD, null);
  app.addHook("onRequest", (request, reply, done) => {
    request.setDecorator(UPLOAD, new ReviewUpload(request, reply, { bodies, startedMs: clock.steady() }));
    done();
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", (request: FastifyRequest, payload: Readable, done) => {
    request.getDecorator<ReviewUpload>(UPLOAD).receive(payload, (error, received) => {
      if (received === undefined) return done(error);
      parseInTurn(received, done);
    });
  });
}

function parseInTurn(received: ReceivedBody, done: (error: Error | null, body?: ReviewBody) => void): void {
  let body: ReviewBody;
  try {
    body = parseReviewBody(received);
  } catch (error) {
    return done(error instanceof Error ? error : new Error("unexpected error", { cause: error }));
  }
  // Lets other requests run between the parsing and the checks of a large object, because both block the event loop.
  if (received.bytes.length > MAX_VALUES) setImmediate(() => done(null, body));
  else done(null, body);
}

/**
 * Parses the body of a review. Does not parse the objects of a body that is too large or has too many values, because
 * `JSON.parse` blocks the event loop for up to 0.8 s for 7 MiB of small values. The result still identifies the
 * request, because the API server sends the fields that identify the request before the objects. Of a large body that
 * is parsed, `managedFields` are empty: no check reads them, and they do not count as values. Throws
 * ERR_REQUEST_MALFORMED or ERR_REQUEST_TOO_LARGE.
 */
export function parseReviewBody({ bytes, missing }: ReceivedBody): ReviewBody {
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
