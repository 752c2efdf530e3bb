import type { FastifyInstance, FastifyReply } from "fastify";
import { ResolverError } from "../shared/decisions/errors.ts";
import { type Recorder, recordError, recordVerdict } from "./audit.ts";
import { type AdmissionRequest, BODY_LIMIT_BYTES, decodeReview } from "./decode.ts";
import type { Verdict } from "./handler.ts";
import { respond, respondError } from "./respond.ts";

/** The API server's default timeout of a webhook call. It always sends the timeout explicitly. */
const DEFAULT_TIMEOUT_MS = 10_000;
/** The share of the timeout that is reserved for the network. */
const MARGIN_MS = 100;
const UNIT_MS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

const JSON_TYPE = "application/json";
const INTERNAL_SERVER_ERROR = 500;

// Request decorators. They are not declared on FastifyRequest, because the sidecar's requests do not have them:
// https://fastify.dev/docs/latest/Reference/Decorators/#getdecorator-t-api
/** When the request headers arrived, in ms of the monotonic clock. */
const STARTED_MS = "startedMs";
/** The decoded AdmissionRequest, or null. */
const REVIEW = "review";

/** Returns the verdict, or throws. `remainingMs` returns the milliseconds left until the deadline. */
export type ReviewHandler = (request: AdmissionRequest, remainingMs: () => number) => Verdict | Promise<Verdict>;

export interface ReviewPorts extends Recorder {
  /** Returns the milliseconds of a monotonic clock. */
  readonly monotonicMs: () => number;
}

/** Serves reviews at one path. `scope` must be a plugin scope, because the error handler applies to the whole scope. */
export function addReviewRoute(scope: FastifyInstance, path: string, handle: ReviewHandler, ports: ReviewPorts): void {
  const { monotonicMs } = ports;
  scope.decorateRequest(STARTED_MS, 0);
  scope.decorateRequest(REVIEW, null);
  // The deadline includes the time to receive the body.
  scope.addHook("onRequest", (request, _reply, done) => {
    request.setDecorator(STARTED_MS, monotonicMs());
    done();
  });
  scope.post(path, async (request, reply) => {
    const review = decodeReview(request.body);
    request.setDecorator(REVIEW, review);
    const startedMs = request.getDecorator<number>(STARTED_MS);
    const elapsedMs = (): number => monotonicMs() - startedMs;
    const budget = budgetMs(request.query);
    const verdict = await handle(review, () => budget - elapsedMs());
    const body = respond(review, verdict);
    recordVerdict(ports, { path, request: review, durationMs: elapsedMs() }, verdict);
    return sendJSON(reply, body);
  });
  scope.setErrorHandler((cause, request, reply) => {
    const error = asResolverError(cause);
    const durationMs = monotonicMs() - request.getDecorator<number>(STARTED_MS);
    recordError(ports, { path, request: request.getDecorator<AdmissionRequest | null>(REVIEW), durationMs }, error);
    return sendError(reply, error);
  });
}

/**
 * Returns the time budget of a review in ms: the query parameter `timeout`, a Go duration such as `10s`, minus a
 * margin. The API server sends the remaining time of the client's request, rounded up to a second.
 */
export function budgetMs(query: unknown): number {
  const timeout = typeof query === "object" && query !== null && "timeout" in query ? query.timeout : undefined;
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(h|ms|m|s)$/.exec(typeof timeout === "string" ? timeout : "") ?? [];
  const ms = amount === undefined || unit === undefined ? DEFAULT_TIMEOUT_MS : Number(amount) * (UNIT_MS[unit] ?? 0);
  return Math.max(0, ms - MARGIN_MS);
}

/** Sends an error as a Status instead of a review. */
export function sendError(reply: FastifyReply, error: ResolverError): FastifyReply {
  // Any 5xx leaves the decision to the failurePolicy. A 503 would also make Kubernetes clients retry.
  const status = Math.min(error.status, INTERNAL_SERVER_ERROR);
  return sendJSON(reply.code(status), respondError(error, status));
}

/** Sends a Buffer, because fastify adds a charset to the content type of a string. */
function sendJSON(reply: FastifyReply, body: Buffer): FastifyReply {
  return reply.header("content-type", JSON_TYPE).send(body);
}

/** Returns fastify's own errors as ERR_REQUEST_*, and any other unknown error as ERR_INTERNAL. */
export function asResolverError(error: unknown): ResolverError {
  if (error instanceof ResolverError) return error;
  const code = error instanceof Error && "code" in error ? error.code : "";
  switch (code) {
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE": {
      const message = `The Content-Type is not ${JSON_TYPE}. Send an AdmissionReview as ${JSON_TYPE}.`;
      return new ResolverError("ERR_REQUEST_MEDIA_TYPE", message);
    }
    case "FST_ERR_CTP_BODY_TOO_LARGE": {
      const message = `The body is larger than ${BODY_LIMIT_BYTES} bytes, the limit of an AdmissionReview.`;
      return new ResolverError("ERR_REQUEST_TOO_LARGE", message);
    }
    case "FST_ERR_CTP_EMPTY_JSON_BODY":
      return malformed("The body is empty. Send an AdmissionReview of admission.k8s.io/v1 as JSON.");
    case "FST_ERR_CTP_INVALID_JSON_BODY":
      return malformed("The body is not JSON. Send an AdmissionReview of admission.k8s.io/v1 as JSON.");
    case "FST_ERR_BAD_URL":
      return malformed("The path has an invalid percent-encoding. Write each % as %25.");
    case "FST_ERR_CTP_INVALID_CONTENT_LENGTH":
      return malformed("The length of the body differs from the Content-Length header.");
    default: {
      const message = "The webhook failed with an internal error. See its log for the cause.";
      return new ResolverError("ERR_INTERNAL", message, { cause: error });
    }
  }
}

function malformed(message: string): ResolverError {
  return new ResolverError("ERR_REQUEST_MALFORMED", message);
}
