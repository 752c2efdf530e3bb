import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ResolverError } from "../shared/decisions/errors.ts";
import { type Recorder, recordError, recordVerdict } from "./audit.ts";
import { type AdmissionRequest, BODY_LIMIT_BYTES, decodeReview } from "./decode.ts";
import type { Verdict } from "./handler.ts";
import { respond, respondError } from "./respond.ts";

/** What the API server uses when a webhook configuration says nothing; it always sends its own. */
const DEFAULT_MS = 10_000;
/** An answer must have crossed the network by the deadline. */
const MARGIN_MS = 100;

const UNIT_MS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/**
 * The time, in ms, that a review may take in all: `?timeout=10s` (a Go duration) less a margin. The API server sends the
 * time that is left of the request, rounded up to a second.
 */
export function budgetMs(query: unknown): number {
  const timeout = typeof query === "object" && query !== null && "timeout" in query ? query.timeout : undefined;
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(h|ms|m|s)$/.exec(typeof timeout === "string" ? timeout : "") ?? [];
  const ms = amount === undefined || unit === undefined ? DEFAULT_MS : Number(amount) * (UNIT_MS[unit] ?? 0);
  return Math.max(0, ms - MARGIN_MS);
}

/** Decides one review. `remainingMs` is how long it may still wait. Throws where it cannot tell. */
export type Decide = (request: AdmissionRequest, remainingMs: () => number) => Verdict | Promise<Verdict>;

const JSON_TYPE = "application/json";
const INTERNAL_SERVER_ERROR = 500;

export interface ReviewPorts extends Recorder {
  /** Milliseconds of a clock that never goes back. */
  readonly monotonicMs: () => number;
}

/** What is known of a request while it is answered. */
interface Progress {
  readonly startedMs: number;
  review: AdmissionRequest | null;
}

/** Serves one path of reviews. Its error handler stands in this scope alone, since only reviews are answered so. */
export function addReviewRoute(scope: FastifyInstance, path: string, decide: Decide, ports: ReviewPorts): void {
  const { monotonicMs } = ports;
  const requests = new WeakMap<FastifyRequest, Progress>();
  // From the head on, since the body's way here counts against the deadline as well.
  scope.addHook("onRequest", (request, _reply, done) => {
    requests.set(request, { startedMs: monotonicMs(), review: null });
    done();
  });
  const progressOf = (request: FastifyRequest): Progress => requests.get(request) ?? { startedMs: monotonicMs(), review: null };
  scope.post(path, async (request, reply) => {
    const progress = progressOf(request);
    const review = decodeReview(request.body);
    progress.review = review;
    const elapsedMs = (): number => monotonicMs() - progress.startedMs;
    const budget = budgetMs(request.query);
    const verdict = await decide(review, () => budget - elapsedMs());
    const answer = respond(review, verdict);
    recordVerdict(ports, { path, request: review, durationMs: elapsedMs() }, verdict);
    return sendJSON(reply, answer);
  });
  scope.setErrorHandler((error, request, reply) => {
    const { startedMs, review } = progressOf(request);
    const fault = asResolverError(error);
    recordError(ports, { path, request: review, durationMs: monotonicMs() - startedMs }, fault);
    return sendError(reply, fault);
  });
}

/** Answers with a Status instead of a review. */
export function sendError(reply: FastifyReply, error: ResolverError): FastifyReply {
  // A 5xx of any kind leaves the decision to the failurePolicy; 503 alone also means "retry" to clients of Kubernetes,
  // who would wait for a view that may take long.
  const status = Math.min(error.status, INTERNAL_SERVER_ERROR);
  return sendJSON(reply.code(status), respondError(error, status));
}

/** A Buffer, since fastify appends a charset to the type of anything else. */
function sendJSON(reply: FastifyReply, body: Buffer): FastifyReply {
  return reply.header("content-type", JSON_TYPE).send(body);
}

/** What is wrong with a request that got no answer, of the framework's own refusals too. */
export function asResolverError(error: unknown): ResolverError {
  if (error instanceof ResolverError) return error;
  const code = error instanceof Error && "code" in error ? error.code : "";
  switch (code) {
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return new ResolverError("ERR_REQUEST_MEDIA_TYPE", `the body's Content-Type is not ${JSON_TYPE}; send an AdmissionReview as ${JSON_TYPE}`);
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return new ResolverError("ERR_REQUEST_TOO_LARGE", `the body is larger than ${BODY_LIMIT_BYTES} bytes, which no AdmissionReview of the API server is`);
    case "FST_ERR_CTP_EMPTY_JSON_BODY":
      return new ResolverError("ERR_REQUEST_MALFORMED", "the body is empty; expected an AdmissionReview of admission.k8s.io/v1 as JSON");
    case "FST_ERR_CTP_INVALID_JSON_BODY":
      return new ResolverError("ERR_REQUEST_MALFORMED", "the body is not JSON; expected an AdmissionReview of admission.k8s.io/v1");
    case "FST_ERR_BAD_URL":
      return new ResolverError("ERR_REQUEST_MALFORMED", "the path does not decode; a % in it stands before two hexadecimal digits");
    case "FST_ERR_CTP_INVALID_CONTENT_LENGTH":
      return new ResolverError("ERR_REQUEST_MALFORMED", "the body's length is not what Content-Length says");
    default:
      return new ResolverError("ERR_INTERNAL", "the review could not be judged, for a fault of the webhook itself; its log says more", { cause: error });
  }
}
