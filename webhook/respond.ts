import type { AdmissionRequest } from "../shared/core/admission.ts";
import { REACHED } from "../shared/core/installation.ts";
import { CATALOGUE } from "../shared/judges.ts";
import { type Finding, findingLine, findingSentences } from "../shared/core/check.ts";
import type { ErrorCode, ResolverError } from "../shared/formats/errors.ts";
import { type FieldPath, formatFieldPath, type PatchOperation } from "../shared/formats/json.ts";
import { UNPRINTABLE } from "../shared/formats/text.ts";
import { REVIEW_API_VERSION, REVIEW_KIND, type Verdict } from "./review.ts";

/**
 * The maximum warning length that the Kubernetes documentation recommends, in characters. The API server truncates each
 * warning to 256 characters if all warnings together exceed 4,096 characters.
 */
const WARNING_LENGTH = 120;
/** A longer text continues in one more warning, so that a value at its end is not lost. */
const MAX_LINES = 2;
/** The number of findings that cause warnings. */
const MAX_WARNED_FINDINGS = 5;

const UNPROCESSABLE = 422;
const INTERNAL_SERVER_ERROR = 500;
const GATEWAY_TIMEOUT = 504;
/** The errors that end soon, or that another replica does not have. */
const BRIEF: ReadonlySet<ErrorCode> = new Set([
  "ERR_REQUEST_CONNECTIONS", "ERR_NAMESPACE_UNREAD", "ERR_INVENTORY_STALE", "ERR_PENDING_WRITES",
]);
/** The API server sends it as Retry-After. client-go then sends a request again, 10 times at most. */
const RETRY_AFTER_SECONDS = 1;
/** The Kubernetes StatusReason of each HTTP status (k8s.io/apimachinery pkg/apis/meta/v1/types.go). */
const STATUS_REASONS: Readonly<Record<number, string>> = {
  400: "BadRequest",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  413: "RequestEntityTooLarge",
  415: "UnsupportedMediaType",
  503: "ServiceUnavailable",
  504: "Timeout",
};

const DENYING_CODES: ReadonlySet<string> = new Set(
  CATALOGUE.filter((check) => check.severity === "deny").map((check) => check.id),
);

/** The profile `enforce` would deny what it admits. */
const WOULD_DENY = "(would be denied)";
const NO_WARNINGS: readonly string[] = [];

/** Returns the response body of a review: an AdmissionReview as JSON. */
export function respond(request: AdmissionRequest, verdict: Verdict): string {
  if (verdict.outcome === "denied") return denied(request, verdict.findings);
  if (verdict.outcome === "mutated") {
    const warnings = verdict.notices.flatMap(({ code, message }) => warningLines(code, message));
    return patched(request, verdict.patch, warnings);
  }
  if ("findings" in verdict) return allowed(request, findingWarnings(verdict.findings));
  return allowed(request, verdict.reason === "reached" ? [REACHED.warning] : NO_WARNINGS);
}

/**
 * Returns the response body of an error: a Status. The API server includes its message in the error of the failed call.
 * `status` is the HTTP status. It must be at least 400, because the API server decodes the body of any lower status as
 * an AdmissionReview.
 */
export function respondError(error: ResolverError, status: number): string {
  const message = `${error.code}: ${error.message}`;
  const failure = { status: "Failure", message, reason: reasonOf(status), code: status };
  return JSON.stringify({ kind: "Status", apiVersion: "v1", metadata: {}, ...failure });
}

function reasonOf(status: number): string {
  return STATUS_REASONS[status] ?? "InternalError";
}

/** Whether the client should repeat its request after this error. */
export function isBrief({ code }: ResolverError): boolean {
  return BRIEF.has(code);
}

/**
 * Returns the response body of a review that failed: a denial, or an admission with a warning. The API server returns
 * the status of a denial to the client.
 */
export function respondFailed(request: AdmissionRequest, error: ResolverError, answer: "denied" | "allowed"): string {
  if (answer === "allowed") {
    const text = `${error.code} ${WOULD_DENY} object admitted without checks (--profile observe)`;
    return allowed(request, [warningLine(text)]);
  }
  const message = `${error.code}: ${error.message}`;
  const isTimeout = isBrief(error) || error.code === "ERR_REQUEST_DEADLINE";
  const code = isTimeout ? GATEWAY_TIMEOUT : INTERNAL_SERVER_ERROR;
  const details = isBrief(error) ? { details: { retryAfterSeconds: RETRY_AFTER_SECONDS } } : {};
  const status = { status: "Failure", message, reason: reasonOf(code), ...details, code };
  return review(request, `"allowed":false,"status":${JSON.stringify(status)}`);
}

/**
 * Returns the warnings for the five most severe findings of severity warn, and one warning with the number of further
 * findings.
 */
export function findingWarnings(findings: readonly Finding[]): readonly string[] {
  if (findings.length === 0) return NO_WARNINGS;
  const warned = findings.filter((finding) => finding.severity === "warn");
  // The sort is stable: findings of the same rank remain sorted by code and path.
  const ranked = warned.toSorted((a, b) => rankOf(a) - rankOf(b));
  const texts = ranked.slice(0, MAX_WARNED_FINDINGS).flatMap(warningsOf);
  // Findings of one check often have the same fix.
  const distinct = new Map(texts.map((one) => [`${one.code} ${one.text}`, one]));
  const lines = [...distinct.values()].flatMap(({ code, text }) => warningLines(code, text));
  const more = ranked.length - MAX_WARNED_FINDINGS;
  return more <= 0 ? lines : [...lines, `and ${more} more; run ack-role-resolver lint to list all findings`];
}

/**
 * Returns the text as printable lines of at most 120 characters, each of which starts with the code. Breaks a longer
 * text after a complete word. Truncates what does not fit in the last line.
 */
export function warningLines(code: string, text: string): readonly string[] {
  const lines: string[] = [];
  let rest = printable(`${code} ${text}`);
  while (lines.length < MAX_LINES - 1 && rest.length > WARNING_LENGTH) {
    const [line, remainder] = breakLine(rest, WARNING_LENGTH);
    lines.push(line.trimEnd());
    rest = `${code} … ${remainder.trimStart()}`;
  }
  return [...lines, truncated(rest)];
}

/** Returns the text as one printable line of at most 120 characters. Truncates a longer text after a complete word. */
export function warningLine(text: string): string {
  return truncated(printable(text));
}

function truncated(text: string): string {
  if (text.length <= WARNING_LENGTH) return text;
  const [line] = breakLine(text, WARNING_LENGTH - 1);
  return `${line.replace(/,? *$/, "")}…`;
}

/** Splits the text after the last complete word that fits. Splits a word that would fill half of the line. */
function breakLine(text: string, length: number): readonly [line: string, rest: string] {
  const space = text.charAt(length) === " " ? length : text.lastIndexOf(" ", length - 1) + 1;
  const end = space * 2 < length ? wholeCharacters(text, length) : space;
  return [text.slice(0, end), text.slice(end)];
}

/** Returns the length without half of a surrogate pair. */
function wholeCharacters(text: string, length: number): number {
  return /[\uDC00-\uDFFF]/.test(text.charAt(length)) ? length - 1 : length;
}

/**
 * Replaces control characters, because the API server drops a warning that contains one. Replaces format characters,
 * because they can reorder the text of a line in a terminal.
 */
function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, " ");
}

/** A text of a finding that warns. */
interface WarningText {
  readonly code: string;
  readonly text: string;
}

/** Returns the finding as one text. If that exceeds one warning, returns two: the message, and then the fix. */
function warningsOf(finding: Finding): WarningText[] {
  const { code, message, fix, waived, wouldDeny = false } = finding;
  const mark = waived ? "(waived)" : wouldDeny ? WOULD_DENY : "";
  const start = `${mark}${placeText(finding.path)} `.trimStart();
  const text = `${start}${findingSentences(finding)}`;
  if (printable(`${code} ${text}`).length <= WARNING_LENGTH) return [{ code, text }];
  return [{ code, text: `${start}${message}` }, { code, text: `${mark} fix: ${fix}`.trimStart() }];
}

/**
 * Returns a space and the path, or the key of an annotation. Omits the path `metadata`, because it stands for the whole
 * object and a warning must be short.
 */
function placeText(path: FieldPath): string {
  const [root, map, key] = path;
  if (path.length === 0 || (path.length === 1 && root === "metadata")) return "";
  const isAnnotation = path.length === 3 && root === "metadata" && map === "annotations" && typeof key === "object";
  return ` ${formatFieldPath(isAnnotation ? [key.key] : path)}:`;
}

/** Returns the rank of a finding: 0 for a denying check, 1 for a warning check, 2 for a waived finding. */
function rankOf({ code, waived }: Finding): number {
  if (waived) return 2;
  return DENYING_CODES.has(code) ? 0 : 1;
}

function allowed(request: AdmissionRequest, warnings: readonly string[]): string {
  return review(request, `"allowed":true${warningsText(warnings)}`);
}

/** For status 422 and reason Invalid, kubectl prints "The KIND NAME is invalid" and each cause on a separate line. */
function denied(request: AdmissionRequest, findings: readonly Finding[]): string {
  const denying = findings.filter((finding) => finding.severity === "deny");
  const causes = denying.map((finding) => ({
    reason: "FieldValueInvalid",
    message: `${finding.code} ${findingSentences(finding)}`,
    field: formatFieldPath(finding.path),
  }));
  const status = {
    status: "Failure",
    message: denying.map(findingLine).join("\n"),
    reason: "Invalid",
    details: { name: request.name, kind: request.kind.kind, causes },
    code: UNPROCESSABLE,
  };
  const warnings = warningsText(findingWarnings(findings));
  return review(request, `"allowed":false,"status":${JSON.stringify(status)}${warnings}`);
}

/** Omits an empty patch, because the API server counts each response that has a patchType as a mutation. */
function patched(request: AdmissionRequest, patch: readonly PatchOperation[], warnings: readonly string[]): string {
  if (patch.length === 0) return allowed(request, warnings);
  const encoded = Buffer.from(JSON.stringify(patch)).toString("base64");
  // Base64 needs no escapes.
  return review(request, `"allowed":true,"patchType":"JSONPatch","patch":"${encoded}"${warningsText(warnings)}`);
}

function warningsText(warnings: readonly string[]): string {
  return warnings.length === 0 ? "" : `,"warnings":${JSON.stringify(warnings)}`;
}

/** Everything before the UID of a response, which is the same in each. */
const START = `{"apiVersion":"${REVIEW_API_VERSION}","kind":"${REVIEW_KIND}","response":{"uid":`;

/** Returns a response. `verdict` is the text of its other fields as JSON. */
function review({ uid }: AdmissionRequest, verdict: string): string {
  return `${START}${JSON.stringify(uid)},${verdict}}}`;
}
