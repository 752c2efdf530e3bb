import { type AdmissionRequest, type Notice, OPERATIONS, type SkipReason } from "../shared/core/admission.ts";
import { runChecksPaced } from "../shared/judges.ts";
import type { Resolution } from "../shared/core/resolution.ts";
import type { CheckInput, Finding } from "../shared/core/check.ts";
import type { CheckResult } from "../shared/core/run.ts";
import type { SteadyClock } from "../shared/core/clock.ts";
import type { DecisionSettings, Requester } from "../shared/core/context.ts";
import type { TerminatingNamespaces } from "../shared/core/exemptions.ts";
import { isLeftOut, type Kind } from "../shared/core/kind.ts";
import { LIMITS } from "../shared/core/limits.ts";
import { ResolverError } from "../shared/formats/errors.ts";
import { field, isJsonObject, type JsonObject, type PatchOperation, stringAt } from "../shared/formats/json.ts";
import type { Paced } from "../shared/formats/paced.ts";
import { quote, startOfText } from "../shared/formats/text.ts";
import { reviewedKind } from "../shared/kinds.ts";
import { runInSlices, type TurnQueue } from "../shared/sources/slices.ts";
import type { AccessContext } from "./access-review.ts";
import type { ReviewBody } from "./body/parse.ts";
import type { NamespaceWaitContext } from "./namespace-wait.ts";
import type { PendingByKind } from "./pending/open.ts";

/** The maximum time that one review blocks the event loop, in ms. */
const SLICE_MS = 10;

/**
 * The result of a review. If a review cannot determine the result, the handler throws, and `route.ts` denies the
 * object or responds with an HTTP error.
 */
export type Verdict =
  | { readonly outcome: "allowed" | "denied"; readonly findings: readonly Finding[] }
  /** The patch is empty if the object needs no change. */
  | {
    readonly outcome: "mutated";
    readonly patch: readonly PatchOperation[];
    readonly notices: readonly Notice[];
    readonly resolution: Resolution | null;
  }
  /** The webhook allows the request and has run no check. */
  | { readonly outcome: "skipped"; readonly reason: SkipReason };

/** What a review reads besides the request. */
export interface ReviewContext extends NamespaceWaitContext, AccessContext {
  readonly clock: SteadyClock;
  /** The paused reviews and scans of the process. */
  readonly turns: TurnQueue;
  readonly pending: PendingByKind;
}

/** A request whose object the checks examine. */
export interface Review {
  readonly kind: Kind;
  readonly request: AdmissionRequest;
  readonly input: CheckInput;
  /** Whether the checks only warn, judged by the namespaces that are being deleted. */
  readonly warnsIn: (inventory: TerminatingNamespaces) => boolean;
}

/**
 * Returns the kind of the object that the webhook reviews at the path, or null if it does not know such objects: also
 * an object of a feature that the installation leaves out, of which the inventory knows nothing.
 */
export function managedKind(
  path: string, type: Parameters<typeof reviewedKind>[1], { without }: Pick<DecisionSettings, "without">,
): Kind | null {
  const kind = reviewedKind(path, type);
  return kind === null || isLeftOut(kind, without) ? null : kind;
}

export function skipped(reason: SkipReason): Verdict {
  return { outcome: "skipped", reason };
}

/**
 * Runs every check that applies to the change. Yields to the event loop between slices, and returns a promise only if
 * it does. Throws ERR_REQUEST_DEADLINE if the deadline passes.
 */
export function runChecksInSlices(
  input: CheckInput, context: SliceContext & Pick<ReviewContext, "settings">,
): CheckResult | Promise<CheckResult> {
  return inSlices(runChecksPaced(input, context.settings), context);
}

type SliceContext = Pick<ReviewContext, "clock" | "remainingMs" | "turns">;

/** Runs a task of a review like `runChecksInSlices`. */
export function inSlices<Result>(
  task: Paced<Result>, { clock, remainingMs, turns }: SliceContext,
): Result | Promise<Result> {
  const pause = (pauses: number): Promise<void> => turns.pause(pauses, remainingMs);
  return runInSlices(task, { sliceMs: SLICE_MS, clock, pause, remainingMs });
}

export function verdictOf({ findings, denied }: Pick<CheckResult, "findings" | "denied">): Verdict {
  return { outcome: denied ? "denied" : "allowed", findings };
}

export const REVIEW_API_VERSION = "admission.k8s.io/v1";
export const REVIEW_KIND = "AdmissionReview";

/** Returns the request in a parsed body. Throws ERR_REQUEST_MALFORMED if the body is not a v1 AdmissionReview. */
export function decodeReview(body: ReviewBody): AdmissionRequest {
  const { json, excess } = body;
  requireReview(json);
  const request = field(json, "request");
  if (!isJsonObject(request)) throw malformed("The field request must be an object.");
  const operation = OPERATIONS.find((known) => known === stringAt(request, "operation"));
  if (operation === undefined) throw malformed(`request.operation must be one of ${OPERATIONS.join(", ")}.`);
  const oldObject = objectAt(request, "oldObject");
  const texts = {
    namespace: text(request, "namespace"),
    // If a client deletes a collection, the API server sends one review for each object. These reviews have no
    // request.name.
    name: stringAt(request, "name") ?? text(oldObject, "metadata", "name"),
    requester: requesterOf(field(request, "userInfo")),
  };
  const excessOfNames = excessOfTexts(texts);
  const { namespace, name, requester } = excessOfNames === null ? texts : withShortTexts(texts);
  return {
    uid: requiredText(request, "uid"),
    operation,
    kind: {
      group: shortText(request, "kind", "group"),
      version: requiredText(request, "kind", "version"),
      kind: requiredText(request, "kind", "kind"),
    },
    subResource: shortText(request, "subResource"),
    namespace,
    name,
    requester,
    object: objectAt(request, "object"),
    oldObject,
    dryRun: field(request, "dryRun") === true,
    excess: excessOfNames ?? excess,
  };
}

const MAX_TEXT = LIMITS.reviewCharacters.value;
const MAX_GROUPS = LIMITS.reviewGroups.value;

/** Returns a clause that states which limit the names or groups in the review exceed; null if they exceed no limit. */
function excessOfTexts({ name, namespace, requester: { username, groups } }: TextsOfReview): string | null {
  if (groups.length > MAX_GROUPS) return `the requester has ${groups.length} groups, more than ${MAX_GROUPS}`;
  const longest = Math.max(name.length, namespace.length, username.length);
  return longest > MAX_TEXT || groups.some(({ length }) => length > MAX_TEXT)
    ? `a name in the review has more than ${MAX_TEXT} characters`
    : null;
}

/** Truncates the names, because the response and the log repeat the names. */
function withShortTexts({ name, namespace, requester: { username } }: TextsOfReview): TextsOfReview {
  return { name: cut(name), namespace: cut(namespace), requester: { username: cut(username), groups: [] } };
}

function cut(longText: string): string {
  return startOfText(longText, MAX_TEXT);
}

type TextsOfReview = Pick<AdmissionRequest, "name" | "namespace" | "requester">;

function requireReview(body: unknown): void {
  const apiVersion = stringAt(body, "apiVersion");
  const kind = stringAt(body, "kind");
  if (apiVersion === REVIEW_API_VERSION && kind === REVIEW_KIND) return;
  const found = `apiVersion ${quote(apiVersion ?? "")} and kind ${quote(kind ?? "")}`;
  throw malformed(`The body has ${found}. Send apiVersion "${REVIEW_API_VERSION}" and kind "${REVIEW_KIND}".`);
}

/** Returns the requester. If userInfo is missing, the requester is anonymous and has no groups. */
function requesterOf(userInfo: unknown): Requester {
  const [groups, extra] = [field(userInfo, "groups"), field(userInfo, "extra")];
  return {
    username: text(userInfo, "username"),
    groups: Array.isArray(groups) ? groups.filter((group) => typeof group === "string") : [],
    uid: text(userInfo, "uid"),
    extra: isJsonObject(extra) ? extra : {},
  };
}

function text(object: unknown, ...path: readonly string[]): string {
  return stringAt(object, ...path) ?? "";
}

/**
 * Returns a text that only the API server sets. Throws if it is too long, because the response and the log repeat it.
 */
function shortText(request: JsonObject, ...path: readonly string[]): string {
  const value = text(request, ...path);
  if (value.length <= MAX_TEXT) return value;
  throw malformed(`request.${path.join(".")} must have at most ${MAX_TEXT} characters.`);
}

function requiredText(request: JsonObject, ...path: readonly string[]): string {
  const value = shortText(request, ...path);
  if (value === "") throw malformed(`request.${path.join(".")} must be a non-empty string.`);
  return value;
}

function objectAt(request: JsonObject, key: "object" | "oldObject"): JsonObject | null {
  const value = field(request, key) ?? null;
  if (value !== null && !isJsonObject(value)) throw malformed(`request.${key} must be an object or null.`);
  return value;
}

function malformed(message: string): ResolverError {
  return new ResolverError("ERR_REQUEST_MALFORMED", message);
}
