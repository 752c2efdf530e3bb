import type { AdmissionRequest, Notice } from "../shared/core/admission.ts";
import type { Resolution } from "../shared/core/resolution.ts";
import type { Finding } from "../shared/core/check.ts";
import type { ResolverError } from "../shared/formats/errors.ts";
import { apiVersionOf } from "../shared/formats/object-meta.ts";
import { startOfText } from "../shared/formats/text.ts";
import type { Logger } from "../shared/server/logger.ts";
import type { WebhookMetrics } from "./metrics.ts";
import type { ObservedStore } from "./observed-store.ts";
import type { Verdict } from "./review.ts";

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
  /** Counts what the profile `enforce` would deny. Absent in other profiles. */
  readonly observed?: Pick<ObservedStore, "add">;
}

const NONE: readonly never[] = [];
const UNCHECKED = { findings: NONE } as const;
const UNCHANGED = { notices: NONE, resolution: null } as const;

/** Logs one line for a review, and increments the metrics. The line never contains the reviewed object. */
export function recordVerdict(recorder: Recorder, review: LoggedReview, verdict: Verdict): void {
  const { log, metrics } = recorder;
  const answer = answerOf(verdict);
  countRequest(metrics, review, answer);
  const { findings } = "findings" in verdict ? verdict : UNCHECKED;
  const { notices, resolution } = verdict.outcome === "mutated" ? verdict : UNCHANGED;
  for (const { code } of notices) metrics.notices.inc({ code });
  if (resolution !== null) metrics.resolutions.inc({ outcome: resolution.outcome });
  const wouldDeny = recordFindings(recorder, review, findings);
  log.info(reviewFields(review, {
    answer, outcome: resolution?.outcome ?? answer, resolution, codes: codesOf(findings, notices), wouldDeny,
    reason: "reason" in verdict ? verdict.reason : undefined,
  }), "admission review answered");
}

/** Counts the findings. Returns the codes with which only the profile `enforce` would deny, if there are any. */
function recordFindings(
  recorder: Recorder, review: LoggedReview, findings: readonly Finding[],
): readonly string[] | undefined {
  for (const { code, severity, wouldDeny = false } of findings) {
    recorder.metrics.findings.inc({ code, severity: wouldDeny ? "would-deny" : severity });
  }
  const denying = findings.filter(({ wouldDeny = false }) => wouldDeny);
  // Some checks deny in every profile.
  if (denying.length === 0 || findings.some(({ severity }) => severity === "deny")) return undefined;
  observe(recorder, review, denying);
  return codesOf(denying, NONE);
}

interface LoggedError {
  readonly error: ResolverError;
  /** The verdict, or `error` if the webhook responds with an HTTP error. */
  readonly answer: "denied" | "allowed" | "error";
}

/** Logs one line for a failed request, and increments the metrics. */
export function recordError(recorder: Recorder, review: LoggedReview, { error, answer }: LoggedError): void {
  const { log, metrics } = recorder;
  countRequest(metrics, review, "error");
  const isAdmitted = answer === "allowed";
  if (isAdmitted) observe(recorder, review, [error]);
  metrics.errors.inc({ path: review.path, code: error.code });
  log.warn({
    ...reviewFields(review, {
      answer, outcome: "error", codes: [error.code], wouldDeny: isAdmitted ? [error.code] : undefined,
    }),
    fault: error.message,
    // Logs the cause of an internal error. For a bad request, the log contains only the code and the message.
    err: error.cause,
  }, "admission review failed");
}

/** Counts an admission for each code with which `enforce` would have denied it. A dry run changes nothing. */
function observe(
  { observed }: Recorder, { request }: LoggedReview, reasons: readonly Pick<Finding, "code" | "message">[],
): void {
  if (observed === undefined || request === null || request.dryRun) return;
  const first = new Map(reasons.toReversed().map(({ code, message }) => [code, message]));
  for (const [code, message] of first) observed.add(request, { code, message });
}

function answerOf(verdict: Verdict): string {
  if (verdict.outcome !== "mutated") return verdict.outcome;
  return verdict.patch.length > 0 ? "patched" : "allowed";
}

function countRequest(metrics: WebhookMetrics, { path, request, durationMs }: LoggedReview, outcome: string): void {
  metrics.responses.observe({ path, operation: request?.operation ?? "unknown", outcome }, durationMs / MS_PER_SECOND);
}

/** Returns the distinct codes. */
function codesOf(findings: readonly Finding[], notices: readonly Notice[]): readonly string[] {
  if (findings.length + notices.length === 0) return NONE;
  return [...new Set([...findings, ...notices].map(({ code }) => code))];
}

interface LoggedAnswer {
  readonly answer: string;
  readonly outcome: string;
  readonly resolution?: Resolution | null;
  readonly codes: readonly string[];
  readonly wouldDeny?: readonly string[] | undefined;
  readonly reason?: string | undefined;
}

const UNKNOWN: Partial<AdmissionRequest> = {};
const UNRESOLVED: Partial<Resolution> = {};

/** Returns the fields of a log line. A field that is undefined is not logged. */
function reviewFields({ path, request, durationMs }: LoggedReview, logged: LoggedAnswer): object {
  const { uid, requester, operation, dryRun } = request ?? UNKNOWN;
  const { answer, outcome, resolution = null, codes, wouldDeny, reason } = logged;
  const { accountID, roleARN } = resolution ?? UNRESOLVED;
  return {
    path,
    uid,
    user: requester?.username,
    operation,
    object: request === null ? undefined : objectFields(request),
    dry_run: dryRun,
    duration_ms: Math.round(durationMs * MS_PER_SECOND) / MS_PER_SECOND,
    answer,
    outcome,
    selector: resolution === null ? undefined : selectedName(resolution),
    conflicting_selectors: resolution === null ? undefined : conflictingNames(resolution),
    account_id: accountID,
    region: resolution === null ? undefined : regionText(resolution),
    role_arn: roleARN,
    codes,
    would_deny: wouldDeny,
    reason,
  };
}

function objectFields({ kind, namespace, name }: AdmissionRequest): object {
  return { api_version: apiVersionOf(kind), kind: kind.kind, namespace, name };
}

function selectedName({ outcome, selectors }: Resolution): string | null {
  return outcome === "selected" ? selectors[0]?.name ?? null : null;
}

function conflictingNames({ outcome, selectors }: Resolution): readonly string[] | undefined {
  return outcome === "conflict" ? selectors.slice(0, MAX_LOGGED_SELECTORS).map(({ name }) => name) : undefined;
}

/** Truncates the region, because a user can write a region of 256 KiB. */
function regionText({ region }: Resolution): string | null {
  return region === null ? null : startOfText(region.value, MAX_LOGGED_REGION);
}
