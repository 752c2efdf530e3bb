import type { Finding } from "../shared/checks/check.ts";
import type { ResolverError } from "../shared/formats/errors.ts";
import { apiVersionOf } from "../shared/formats/object-meta.ts";
import type { Resolution } from "../shared/resolution/resolve.ts";
import type { Logger } from "../shared/server/logger.ts";
import type { AdmissionRequest } from "./decode.ts";
import type { Notice, Verdict } from "./handler.ts";
import type { WebhookMetrics } from "./metrics.ts";

const MS_PER_SECOND = 1000;
/** The maximum number of selectors in a log line. */
const MAX_LOGGED_SELECTORS = 100;
/** The maximum length of a region in a log line. */
const MAX_LOGGED_REGION = 100;

interface LoggedReview {
  readonly path: string;
  /** The decoded request; null if the body is not a valid AdmissionReview. */
  readonly request: AdmissionRequest | null;
  readonly durationMs: number;
}

export interface Recorder {
  readonly log: Logger;
  readonly metrics: WebhookMetrics;
}

interface LoggedVerdict {
  readonly findings: readonly Finding[];
  readonly notices: readonly Notice[];
  readonly resolution: Resolution | null;
}

const EMPTY: LoggedVerdict = { findings: [], notices: [], resolution: null };

/** Logs one line for a review, and increments the metrics. The line never contains the reviewed object. */
export function recordVerdict({ log, metrics }: Recorder, review: LoggedReview, verdict: Verdict): void {
  const answer = answerOf(verdict);
  countRequest(metrics, review, answer);
  const { findings, notices, resolution } = { ...EMPTY, ...verdict };
  for (const { code, severity } of findings) metrics.findings.inc({ code, severity });
  for (const { code } of notices) metrics.notices.inc({ code });
  if (resolution !== null) metrics.resolutions.inc({ outcome: resolution.outcome });
  log.info({
    ...requestFields(review),
    answer,
    outcome: resolution?.outcome ?? answer,
    ...(resolution !== null && resolutionFields(resolution)),
    codes: [...new Set([...findings, ...notices].map(({ code }) => code))],
    ...(verdict.outcome === "skipped" && { reason: verdict.reason }),
  }, "admission review answered");
}

interface LoggedError {
  readonly error: ResolverError;
  /** The verdict, or `error` if the webhook responds with an HTTP error. */
  readonly answer: "denied" | "allowed" | "error";
}

/** Logs one line for a failed request, and increments the metrics. */
export function recordError(
  { log, metrics }: Recorder, review: LoggedReview, { error, answer }: LoggedError,
): void {
  countRequest(metrics, review, "error");
  metrics.errors.inc({ path: review.path, code: error.code });
  log.warn({
    ...requestFields(review),
    answer,
    outcome: "error",
    codes: [error.code],
    fault: error.message,
    // Logs the cause of an internal error. For a bad request, the log contains only the code and the message.
    err: error.cause,
  }, "admission review failed");
}

function answerOf(verdict: Verdict): string {
  if (verdict.outcome !== "mutated") return verdict.outcome;
  return verdict.patch.length > 0 ? "patched" : "allowed";
}

function countRequest(metrics: WebhookMetrics, { path, request, durationMs }: LoggedReview, outcome: string): void {
  metrics.requests.inc({ path, operation: request?.operation ?? "unknown", outcome });
  metrics.duration.observe({ path }, durationMs / MS_PER_SECOND);
}

function requestFields({ path, request, durationMs }: LoggedReview): object {
  return {
    path,
    uid: request?.uid,
    user: request?.requester.username,
    operation: request?.operation,
    object: request === null ? undefined : {
      api_version: apiVersionOf(request.kind),
      kind: request.kind.kind,
      namespace: request.namespace,
      name: request.name,
    },
    dry_run: request?.dryRun,
    duration_ms: Math.round(durationMs * MS_PER_SECOND) / MS_PER_SECOND,
  };
}

function resolutionFields({ outcome, selectors, accountID, region, roleARN }: Resolution): object {
  const [selector] = outcome === "selected" ? selectors : [];
  return {
    selector: selector?.name ?? null,
    ...(outcome === "conflict" && {
      conflicting_selectors: selectors.slice(0, MAX_LOGGED_SELECTORS).map(({ name }) => name),
    }),
    account_id: accountID,
    // Truncates the region, because a user can write a region of 256 KiB.
    region: region?.value.slice(0, MAX_LOGGED_REGION) ?? null,
    role_arn: roleARN,
  };
}
