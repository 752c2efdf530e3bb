import { CATALOGUE } from "../shared/decisions/checks/catalogue.ts";
import { type Finding, findingLine, findingSentences } from "../shared/decisions/checks/finding.ts";
import type { ResolverError } from "../shared/decisions/errors.ts";
import { formatFieldPath } from "../shared/decisions/kubernetes/field-path.ts";
import type { PatchOperation } from "../shared/decisions/kubernetes/json.ts";
import { UNPRINTABLE } from "../shared/decisions/kubernetes/text.ts";
import { type AdmissionRequest, REVIEW_API_VERSION, REVIEW_KIND } from "./decode.ts";
import type { Verdict } from "./handler.ts";

/** What the Kubernetes documentation advises; the API server itself cuts at 256 once all together pass 4,096. */
const WARNING_LENGTH = 120;
const WARNINGS = 5;

const DENYING: ReadonlySet<string> = new Set(CATALOGUE.filter((check) => check.severity === "deny").map((check) => check.id));

/** One line that a terminal can print, id first, of at most 120 characters. */
export function warningLine(text: string): string {
  // A control character would make the API server drop the whole warning, a format character could turn a terminal's line round.
  const characters = Array.from(text.replaceAll(UNPRINTABLE, " "));
  return characters.length <= WARNING_LENGTH ? characters.join("") : `${characters.slice(0, WARNING_LENGTH - 1).join("")}…`;
}

/** The five gravest of the findings that do not deny, and how many more there are. */
export function findingWarnings(findings: readonly Finding[]): readonly string[] {
  const warned = findings.filter((finding) => finding.severity === "warn");
  // A stable sort: findings of one gravity keep the order of their codes and paths.
  const gravest = warned.toSorted((a, b) => gravity(a) - gravity(b)).map(findingWarning);
  const more = gravest.length - WARNINGS;
  return more > 0 ? [...gravest.slice(0, WARNINGS), `and ${more} more; ack-role-resolver lint lists them all`] : gravest;
}

function findingWarning(finding: Finding): string {
  const code = finding.waived ? `${finding.code} (waived)` : finding.code;
  return warningLine(findingLine({ ...finding, code }));
}

/** A fault that was there before comes first, what only ever warns next, what somebody waived last. */
function gravity({ code, waived }: Finding): number {
  if (waived) return 2;
  return DENYING.has(code) ? 0 : 1;
}

/** The API server's names of HTTP statuses (k8s.io/apimachinery pkg/apis/meta/v1/types.go, StatusReason). */
const STATUS_REASONS: Readonly<Record<number, string>> = {
  400: "BadRequest",
  404: "NotFound",
  405: "MethodNotAllowed",
  413: "RequestEntityTooLarge",
  415: "UnsupportedMediaType",
};
const UNPROCESSABLE = 422;

/** The one place that turns a verdict into the bytes of an AdmissionReview. */
export function respond(request: AdmissionRequest, verdict: Verdict): Buffer {
  if (verdict.outcome === "denied") return denied(request, verdict.findings);
  if (verdict.outcome === "mutated") {
    return patched(request, verdict.patch, verdict.notices.map(({ code, message }) => warningLine(`${code} ${message}`)));
  }
  return allowed(request, verdict.outcome === "allowed" ? findingWarnings(verdict.findings) : []);
}

function allowed(request: AdmissionRequest, warnings: readonly string[]): Buffer {
  return review(request, { allowed: true, ...withWarnings(warnings) });
}

/** Code and reason make kubectl print "The KIND NAME is invalid" and each cause on a line of its own. */
function denied(request: AdmissionRequest, findings: readonly Finding[]): Buffer {
  const denying = findings.filter((finding) => finding.severity === "deny");
  const causes = denying.map((finding) => (
    { reason: "FieldValueInvalid", message: `${finding.code} ${findingSentences(finding)}`, field: formatFieldPath(finding.path) }
  ));
  const status = {
    status: "Failure",
    message: denying.map(findingLine).join("\n"),
    reason: "Invalid",
    details: { name: request.name, kind: request.kind.kind, causes },
    code: UNPROCESSABLE,
  };
  return review(request, { allowed: false, status, ...withWarnings(findingWarnings(findings)) });
}

/** An empty patch is no patch: one with a patchType and no operations would still count as a mutation. */
function patched(request: AdmissionRequest, patch: readonly PatchOperation[], warnings: readonly string[]): Buffer {
  if (patch.length === 0) return allowed(request, warnings);
  const encoded = Buffer.from(JSON.stringify(patch)).toString("base64");
  return review(request, { allowed: true, patchType: "JSONPatch", patch: encoded, ...withWarnings(warnings) });
}

function withWarnings(warnings: readonly string[]): { readonly warnings?: readonly string[] } {
  return warnings.length === 0 ? {} : { warnings };
}

function review({ uid }: AdmissionRequest, response: object): Buffer {
  return Buffer.from(JSON.stringify({ apiVersion: REVIEW_API_VERSION, kind: REVIEW_KIND, response: { uid, ...response } }));
}

/**
 * The body of an answer that is no review: a Status, whose message the API server shows with the failed call. `status` is
 * the HTTP status, never one below 400, since anything the API server could read as an answer would have to be one.
 */
export function respondError(error: ResolverError, status: number): Buffer {
  const reason = STATUS_REASONS[status] ?? "InternalError";
  const message = `${error.code}: ${error.message}`;
  return Buffer.from(JSON.stringify({ kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, code: status }));
}
