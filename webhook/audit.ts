import type { Finding } from "../shared/decisions/checks/finding.ts";
import type { ResolverError } from "../shared/decisions/errors.ts";
import { apiVersionOf } from "../shared/decisions/kubernetes/object-meta.ts";
import type { Resolution } from "../shared/decisions/resolution/resolve.ts";
import type { Logger } from "../shared/server/logger.ts";
import type { AdmissionRequest } from "./decode.ts";
import type { Notice, Verdict } from "./handler.ts";
import type { WebhookMetrics } from "./metrics.ts";

/** What was asked for and how long it took. `request` is null where no review could be read. */
export interface AuditedRequest {
  readonly path: string;
  readonly request: AdmissionRequest | null;
  readonly durationMs: number;
}

export interface Recorder {
  readonly log: Logger;
  readonly metrics: WebhookMetrics;
}

interface Said {
  readonly findings: readonly Finding[];
  readonly notices: readonly Notice[];
  readonly resolution: Resolution | null;
}

const NOTHING_SAID: Said = { findings: [], notices: [], resolution: null };
const MS_PER_SECOND = 1000;

/** One audit line and the metrics of a review that was answered. Object bodies never reach a log. */
export function recordVerdict({ log, metrics }: Recorder, asked: AuditedRequest, verdict: Verdict): void {
  const answer = answerOf(verdict);
  count(metrics, asked, answer);
  const { findings, notices, resolution } = { ...NOTHING_SAID, ...verdict };
  for (const { code, severity } of findings) metrics.findings.inc({ code, severity });
  for (const { code } of notices) metrics.notices.inc({ code });
  if (resolution !== null) metrics.resolutions.inc({ outcome: resolution.outcome });
  log.info({
    ...fieldsOf(asked),
    answer,
    outcome: resolution?.outcome ?? answer,
    ...(resolution !== null && resolutionFields(resolution)),
    codes: [...new Set([...findings, ...notices].map(({ code }) => code))],
    ...(verdict.outcome === "skipped" && { reason: verdict.reason }),
  }, "admission review answered");
}

function resolutionFields({ outcome, selectors, accountID, region, roleARN }: Resolution): object {
  const [selector] = outcome === "selected" ? selectors : [];
  return {
    selector: selector?.name ?? null,
    ...(outcome === "conflict" && { conflicting_selectors: selectors.map(({ name }) => name) }),
    account_id: accountID,
    region: region?.value ?? null,
    role_arn: roleARN,
  };
}

/** The same for a request that got an error. */
export function recordError({ log, metrics }: Recorder, asked: AuditedRequest, error: ResolverError): void {
  count(metrics, asked, "error");
  metrics.errors.inc({ path: asked.path, code: error.code });
  // The cause is there only for faults of ours; a user's bad request is told by its code and message.
  log.warn({ ...fieldsOf(asked), answer: "error", outcome: "error", codes: [error.code], fault: error.message, err: error.cause }, "admission review failed");
}

function answerOf(verdict: Verdict): string {
  if (verdict.outcome !== "mutated") return verdict.outcome;
  return verdict.patch.length > 0 ? "patched" : "allowed";
}

function count(metrics: WebhookMetrics, { path, request, durationMs }: AuditedRequest, outcome: string): void {
  metrics.requests.inc({ path, operation: request?.operation ?? "unknown", outcome });
  metrics.duration.observe({ path }, durationMs / MS_PER_SECOND);
}

function fieldsOf({ path, request, durationMs }: AuditedRequest): object {
  return {
    path,
    uid: request?.uid,
    user: request?.requester.username,
    operation: request?.operation,
    object: request === null ? undefined : {
      api_version: apiVersionOf(request.kind), kind: request.kind.kind, namespace: request.namespace, name: request.name,
    },
    dry_run: request?.dryRun,
    duration_ms: Math.round(durationMs * MS_PER_SECOND) / MS_PER_SECOND,
  };
}
