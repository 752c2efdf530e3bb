import { field, type JsonObject, stringAt } from "../formats/json.ts";
import { compareText, printable, startOfText } from "../formats/text.ts";

/**
 * What a condition says about the resource. `error`: AWS or the controller rejected it. `waiting`: the controller has
 * not finished. `notice`: it works, but its user should know something. `fine`: it is as expected, or repeats another.
 */
export type Meaning = "error" | "waiting" | "notice" | "fine";

type Status = "True" | "False" | "Unknown";

interface ConditionRow {
  readonly type: `ACK.${string}`;
  /** The meaning of each status. A status that is not listed is fine. */
  readonly means: Partial<Readonly<Record<Status, Meaning>>>;
}

/**
 * The conditions of ACK's runtime. Source: aws-controllers-k8s/runtime at 95428e7 (after v0.61.0),
 * apis/core/v1alpha1/conditions.go, and the functions named below in pkg/runtime/reconciler.go and
 * pkg/condition/condition.go, and in the managers that aws-controllers-k8s/code-generator generates, such as
 * s3-controller pkg/resource/bucket. A condition that is not listed, such as one of a later runtime, is fine. So is
 * `Ready`, which repeats another one (ensureConditions).
 */
export const RESOURCE_CONDITIONS: readonly ConditionRow[] = [
  // updateConditions in sdk.go, failOnResourceUnmanaged: the controller does not retry (HandleReconcileError).
  { type: "ACK.Terminal", means: { True: "error" } },
  // updateConditions in sdk.go: the controller retries.
  { type: "ACK.Recoverable", means: { True: "error" } },
  // ensureConditions: Unknown after each error, also of what is only requeued. LateInitialize in manager.go: False.
  { type: "ACK.ResourceSynced", means: { False: "waiting", Unknown: "waiting" } },
  // WithReferencesResolvedCondition: False only if a referenced resource is terminal or in a forbidden namespace.
  { type: "ACK.ReferencesResolved", means: { False: "error", Unknown: "waiting" } },
  // LateInitialize in manager.go: False while AWS has not set the defaults; True with a message when it has.
  { type: "ACK.LateInitialized", means: { False: "waiting" } },
  // SetAdvisory, cross_namespace.go: such as a change of an immutable field, or CrossNamespaceOptInRequired.
  { type: "ACK.Advisory", means: { True: "notice" } },
  // adoption_reconciler.go, until v0.52: only on an AdoptedResource.
  { type: "ACK.Adopted", means: { False: "error" } },
  // setIAMRoleSelectorCondition: the role that the last attempt used, even if it failed.
  { type: "ACK.IAMRoleSelected", means: {} },
];

const MEANINGS = new Map<string, ConditionRow["means"]>(RESOURCE_CONDITIONS.map(({ type, means }) => [type, means]));

/** handleCacheError in reconciler.go: without a role in the CARM maps, ACK.ResourceSynced is the only condition. */
const NO_ROLE = "IAM Role is not available";
/** failOnResourceUnmanaged in reconciler.go: the resource exists in AWS, but the object lacks ACK's finalizer. */
const NOT_MANAGED = "Resource already exists";
/** What ACK quotes of an error of AWS is often long. */
const MAX_LENGTH = 1_000;

/** A condition of a resource, and what it says. */
export interface ReportedCondition {
  readonly type: string;
  readonly meaning: Exclude<Meaning, "fine">;
  /** The message and the reason, printable and bounded, without a period at their end. */
  readonly text: string;
  /** What exists in AWS already, so that the controller cannot create it; null if the condition names nothing. */
  readonly existing: Existing | null;
}

/**
 * `unmanaged`: the controller finds it by the fields of this object. `unidentified`: AWS has it, but the controller
 * does not find it by these fields. `foreign`: it belongs to another account.
 */
export type Existing = "unmanaged" | "unidentified" | "foreign";

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly message: string;
  readonly reason: string;
}

/**
 * Returns the conditions of an ACK resource that say more than that all is well, errors first. While one is an error,
 * those that say that the controller waits repeat it, and are omitted.
 */
export function reportedConditions(object: JsonObject): readonly ReportedCondition[] {
  const reported = conditionsOf(object).flatMap((condition) => {
    const meaning = meaningOf(condition);
    return meaning === "fine"
      ? [] : [{ type: condition.type, meaning, text: textOf(condition), existing: existingOf(condition) }];
  });
  const of = (meaning: Meaning): ReportedCondition[] => reported.filter((one) => one.meaning === meaning);
  const errors = of("error");
  return [...errors, ...errors.length > 0 ? [] : of("waiting"), ...of("notice")];
}

/**
 * Returns when a condition last proved that AWS accepted the credentials of the controller, as a text; null if none
 * does. The runtime writes all conditions anew in each reconciliation, so the time is that of the last one. It records
 * no `observedGeneration`. ACK.IAMRoleSelected proves nothing: it is True after a failure too.
 */
export function acceptedAt(object: JsonObject): string | null {
  const proofs = rawConditions(object).filter((one) => {
    const condition = conditionOf(one);
    const isSynced = condition.type === "ACK.ResourceSynced" && condition.status === "True";
    return isSynced || existingOf(condition) === "unmanaged";
  });
  const times = proofs.map((one) => stringAt(one, "lastTransitionTime") ?? "").filter((text) => TIME.test(text));
  return times.toSorted(compareText).at(-1) ?? null;
}

/** How a time is stored: the order of the texts is that of the times. Source: k8s.io/apimachinery metav1.Time. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

function meaningOf({ type, status, message }: Condition): Meaning {
  if (type === "ACK.ResourceSynced" && status === "False" && message === NO_ROLE) return "error";
  const means = MEANINGS.get(type) ?? {};
  return status === "True" || status === "False" || status === "Unknown" ? means[status] ?? "fine" : "fine";
}

/** The runtime swaps message and reason in some conditions, and leaves one of them out in others. */
function textOf({ status, message, reason }: Condition): string {
  const parts = [...new Set([message, reason])].map((part) => part.replace(/\.$/, "")).filter((part) => part !== "");
  const text = printable(parts.length === 0 ? `status ${status}` : parts.join(": "));
  return text.length > MAX_LENGTH ? `${startOfText(text, MAX_LENGTH)}...` : text;
}

/**
 * Codes of errors of AWS, such as EntityAlreadyExists, RepositoryAlreadyExistsException, DBInstanceAlreadyExists,
 * BucketAlreadyOwnedByYou and InvalidGroup.Duplicate. Source: the documentation of Create* in each service.
 */
const EXISTS = /AlreadyExists|AlreadyOwnedByYou|\.Duplicate\b|\balready exists\b/i;
/** The names of buckets are unique in a partition. Source: CreateBucket in the API reference of S3. */
const FOREIGN = /\bBucketAlreadyExists\b/;
/** What the runtime says about accounts and regions, which is about this object. Source: Reconcile in reconciler.go. */
const DRIFT = /\balready exists in (?:account|region)\b/;

function existingOf({ type, status, message }: Condition): Existing | null {
  const isError = (type === "ACK.Terminal" || type === "ACK.Recoverable") && status === "True";
  if (!isError || DRIFT.test(message)) return null;
  if (message === NOT_MANAGED) return "unmanaged";
  if (FOREIGN.test(message)) return "foreign";
  return EXISTS.test(message) ? "unidentified" : null;
}

function conditionsOf(object: JsonObject): Condition[] {
  return rawConditions(object).map(conditionOf);
}

function rawConditions(object: JsonObject): readonly unknown[] {
  const conditions = field(field(object, "status"), "conditions");
  return Array.isArray(conditions) ? conditions : [];
}

function conditionOf(one: unknown): Condition {
  const at = (key: string): string => stringAt(one, key) ?? "";
  return { type: at("type"), status: at("status"), message: at("message"), reason: at("reason") };
}
