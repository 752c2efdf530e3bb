import type { AdmissionRequest } from "../shared/core/admission.ts";
import type { FastifyInstance, FastifyReply } from "fastify";
import type { SteadyClock } from "../shared/core/clock.ts";
import type { EndOfTurn } from "../shared/server/end-of-turn.ts";
import { ResolverError } from "../shared/formats/errors.ts";
import { parseReviewBody, type ReviewBody, startOf } from "./body/parse.ts";
import { type Recorder, recordError, recordVerdict } from "./record.ts";
import { decodeReview, type Verdict } from "./review.ts";
import { isBrief, respond, respondError, respondFailed } from "./respond.ts";

/** The timeout of a webhook call if the parameter `timeout` is missing: the default of the API server. */
const DEFAULT_TIMEOUT_MS = 10_000;
/** The part of the timeout that is reserved for the network, in ms. */
const MARGIN_MS = 100;
const UNIT_MS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

const JSON_TYPE = "application/json";
const NO_BODY = { bytes: Buffer.alloc(0), missing: null };
const INTERNAL_SERVER_ERROR = 500;

/** Returns the verdict, or throws. `remainingMs` returns the remaining time until the deadline, in ms. */
type ReviewHandler = (request: AdmissionRequest, remainingMs: () => number) => Verdict | Promise<Verdict>;

/**
 * The steps that are done together for all reviews of one turn of the event loop. A review is recorded before it is
 * answered, so that a killed webhook has logged each answer.
 */
interface TurnOfReviews {
  readonly reviews: EndOfTurn;
  readonly records: EndOfTurn;
  readonly responses: EndOfTurn;
}

interface ReviewPorts extends Recorder {
  readonly clock: Pick<SteadyClock, "steady">;
  /** Whether the webhook admits an object although its review failed. */
  readonly admitsFailed: (request: AdmissionRequest) => boolean;
  readonly turn: TurnOfReviews;
}

/**
 * Registers the route of reviews at `path`. `scope` must be a plugin scope, because the error handler applies to the
 * whole scope.
 */
export function addReviewRoute(scope: FastifyInstance, path: string, handle: ReviewHandler, ports: ReviewPorts): void {
  const { clock, admitsFailed, turn: { reviews, records, responses } } = ports;
  scope.post<{ Body: ReviewBody | undefined }>(path, (request, reply) => {
    const body = request.body ?? parseReviewBody(NO_BODY);
    const review = decodeReview(body);
    // The deadline includes the time to receive the body.
    const startedMs = startOf(request);
    const elapsedMs = (): number => clock.steady() - startedMs;
    const budget = budgetMs(request.query);
    const answer = (verdict: Verdict): void => {
      const response = respond(review, verdict);
      const answered = { path, request: review, durationMs: elapsedMs() };
      records.add(() => recordVerdict(ports, answered, verdict));
      responses.add(() => void sendJSON(reply, response));
    };
    const fail = (cause: unknown): void => {
      // Sends a verdict and not an HTTP error, because after an HTTP error, the failurePolicy could admit an object
      // whose content makes the review fail.
      const error = asResolverError(cause);
      const outage = isOutage(error);
      const result = isVerdict(error) || !admitsFailed(review) ? "denied" : "allowed";
      const logged = { path, request: review, durationMs: elapsedMs() };
      recordError(ports, logged, { error, answer: outage ? "error" : result });
      if (outage) return void sendError(reply, error);
      // The API server can then send the repeated request to another replica.
      if (isBrief(error)) reply.header("connection", "close");
      sendJSON(reply, respondFailed(review, error, result));
    };
    const decide = async (): Promise<void> => {
      if (body.isDiscarded) throw tooManyBodies();
      answer(await handle(review, () => budget - elapsedMs()));
    };
    reviews.add(() => void decide().catch(fail).catch((error: unknown) => reply.send(error)));
  });
  scope.setErrorHandler((cause, request, reply) => {
    const error = asResolverError(cause);
    // The handler answers all other errors.
    const logged = { path, request: null, durationMs: clock.steady() - startOf(request) };
    recordError(ports, logged, { error, answer: "error" });
    return sendError(reply, error);
  });
}

function tooManyBodies(): ResolverError {
  const message = "The webhook is reviewing too many large objects. Retry in a moment.";
  return new ResolverError("ERR_REQUEST_CONNECTIONS", message);
}

/**
 * Returns whether the error prevents the review of any object. For such an error, the webhook sends an HTTP error, so
 * that the failurePolicy applies.
 */
function isOutage({ code }: ResolverError): boolean {
  return code === "ERR_NOT_READY";
}

/** Returns whether the error is a verdict and not an internal error, which denies in every profile. */
function isVerdict({ code }: ResolverError): boolean {
  return code === "ERR_PENDING_WRITES" || code === "ERR_REQUEST_CONNECTIONS";
}

/**
 * Returns the time budget of a review in ms: the query parameter `timeout`, minus a margin. `timeout` is a Go duration
 * such as `10s`: the remaining time of the client's request, rounded up to a second.
 */
export function budgetMs(query: unknown): number {
  const timeout = typeof query === "object" && query !== null && "timeout" in query ? query.timeout : undefined;
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(h|ms|m|s)$/.exec(typeof timeout === "string" ? timeout : "") ?? [];
  const ms = amount === undefined || unit === undefined ? DEFAULT_TIMEOUT_MS : Number(amount) * (UNIT_MS[unit] ?? 0);
  return Math.max(0, ms - MARGIN_MS);
}

/** Sends an error as a Status object. */
export function sendError(reply: FastifyReply, error: ResolverError): FastifyReply {
  // Sends 500 in place of 503, because Kubernetes clients would retry after a 503. The failurePolicy applies to any
  // 5xx.
  const status = Math.min(error.status, INTERNAL_SERVER_ERROR);
  return sendJSON(reply.code(status), respondError(error, status));
}

/**
 * Sends a text, because Node.js writes it together with the headers. With a serializer, fastify adds no charset to the
 * content type.
 */
export function sendJSON(reply: FastifyReply, body: string): FastifyReply {
  return reply.serializer(asIs).header("content-type", JSON_TYPE).send(body);
}

function asIs(body: string): string {
  return body;
}

/** Converts an error to a ResolverError: ERR_REQUEST_* for an error of fastify, ERR_INTERNAL for any other error. */
export function asResolverError(error: unknown): ResolverError {
  if (error instanceof ResolverError) return error;
  const code = error instanceof Error && "code" in error ? error.code : "";
  switch (code) {
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE": {
      const message = `The Content-Type is not ${JSON_TYPE}. Send an AdmissionReview as ${JSON_TYPE}.`;
      return new ResolverError("ERR_REQUEST_MEDIA_TYPE", message);
    }
    case "FST_ERR_BAD_URL": {
      const message = "The percent-encoding of the path is invalid. Write each % as %25.";
      return new ResolverError("ERR_REQUEST_MALFORMED", message);
    }
    default: {
      const message = "The webhook failed with an internal error. See its log for the cause.";
      return new ResolverError("ERR_INTERNAL", message, { cause: error });
    }
  }
}
