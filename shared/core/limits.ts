import { type Excess, excessOf, field, isJsonObject, type JsonObject, omitField } from "../formats/json.ts";

/** A limit for the size of a request, an object or a file. docs/limits.md is generated from the limits. */
export interface Limit {
  readonly value: number;
  readonly unit: "bytes" | "levels" | "values" | "entries" | "characters" | "faults" | "steps" | "connections" | "ms";
  /** The thing whose size is limited. */
  readonly bounds: string;
  /** The effect if the limit is exceeded. */
  readonly beyond: string;
}

const REVIEW_BEYOND = "denied unparsed; a deletion is checked with the stored fields";
const DENIED = "denied, unless the object is deleted";
const SELECTOR_DENIED = "the selector is denied (IRS-48), and sidecars do not grant its role";
const SERVED_BEYOND = "the one idle longest is closed, or HTTP 503";
const ACCEPTED_BEYOND = "the new connection is reset";
const LATE = "the connection is closed";
const PENDING_BEYOND = "denied: ERR_PENDING_WRITES";
const MAP_BEYOND = "the map counts the others, and says so";

/**
 * The limits of requests, objects, files and connections, and of what a server stores for them. Each limit is checked
 * before the limited data is processed. Other limits, such as those of caches and of texts in messages, are constants
 * of the files that apply them.
 */
export const LIMITS = {
  /**
   * The API server accepts 3 MiB from a client. The review of an UPDATE contains the new object, the stored object, and
   * less than 1 MiB of other data. controller-runtime has the same limit (pkg/webhook/admission/http.go). The API
   * server escapes characters such as `<` as six bytes, so a review of an object of 1.5 MiB can have 9 MiB.
   */
  reviewBytes: limit(7 * 1024 * 1024, "bytes", "body of an AdmissionReview", REVIEW_BEYOND),
  /** The fields before the object, which identify a review, take a few KiB. */
  reviewHeadBytes: limit(
    64 * 1024, "bytes", "part of a body that is always stored", "the body counts toward the next limit",
  ),
  largeReviewsBytes: limit(
    32 * 1024 * 1024, "bytes", "all bodies in flight of more than 64 KiB",
    "a review of the requester with the largest bodies is denied",
  ),
  reviewValues: limit(
    50_000, "values", "values of an AdmissionReview, without `managedFields`", REVIEW_BEYOND,
  ),
  reviewCharacters: limit(
    4_096, "characters", "each name in an AdmissionReview",
    REVIEW_BEYOND,
  ),
  reviewGroups: limit(10_000, "entries", "groups of the requester in an AdmissionReview", REVIEW_BEYOND),
  objectDepth: limit(100, "levels", "nesting of an object, without `managedFields`", DENIED),
  objectValues: limit(
    20_000, "values", "values of an object, without `managedFields`", DENIED,
  ),
  metadataEntries: limit(
    1_000, "entries", "labels of an object, and its annotations",
    `${DENIED}; sidecars grant no role in such a Namespace`,
  ),
  selectorNamespaces: limit(1_000, "entries", "`spec.namespaceSelector.names`", SELECTOR_DENIED),
  selectorTypes: limit(1_000, "entries", "`spec.resourceTypeSelector`", SELECTOR_DENIED),
  selectorLabels: limit(
    100, "entries", "`matchLabels`, and `matchExpressions`, of an IAMRoleSelector", SELECTOR_DENIED,
  ),
  annotationCharacters: limit(
    32_768, "characters", "an annotation `ack-role-resolver.io/*` of an IAMRoleSelector", SELECTOR_DENIED,
  ),
  listedEntries: limit(
    100, "entries", "entries of a comma-separated list in an annotation",
    "the other entries are ignored, and counted in a fault",
  ),
  accessReviews: limit(
    100, "entries", "access reviews for one request",
    "ACK-09, NS-02 and AC-05 deny the request",
  ),
  identityRoles: limit(
    8, "entries", "AWSClusterRoleIdentities in a chain of identities",
    "refused: ERR_IDENTITY_DEPTH",
  ),
  secretFields: limit(
    2_000, "values", "`managedFields` of the Secret of a static identity; in manifests also its keys",
    "CI-10 does not check the keys",
  ),
  grantedTypes: limit(
    10_000, "entries", "types that a credential request without a kind can mean",
    "denied: ERR_SELECTOR_AMBIGUOUS",
  ),
  grantSteps: limit(
    100_000, "steps", "steps of one decision on a role",
    "denied: ERR_SELECTOR_AMBIGUOUS",
  ),
  faultsPerCheck: limit(
    20, "faults", "faults that a check reports for an object", "a message counts the others",
  ),
  faultsPerObject: limit(
    100, "faults", "faults that all checks report for an object", "a message counts the others",
  ),
  manifestBytes: limit(64 * 1024 * 1024, "bytes", "a manifest file, or standard input", "the file is rejected"),
  folderLevels: limit(64, "levels", "nesting of folders in a given folder", "the folder is rejected"),
  folderEntries: limit(
    500_000, "entries", "files and folders in the given folders (below a link tenfold)",
    "the given folder is rejected",
  ),
  ignoreBytes: limit(1024 * 1024, "bytes", "an ignore file, such as `.gitignore`", "the file is rejected"),
  ignoreRules: limit(
    20_000, "entries", "rules in the ignore files of a folder (one with `**/` counts tenfold)",
    "the file is rejected",
  ),
  manifestDocuments: limit(
    20_000, "entries", "YAML documents in a manifest file (`--max-documents`)", "the file is rejected",
  ),
  manifestValues: limit(
    50_000, "values", "values of an object that a server reads with `--from`", "the file is rejected",
  ),
  aliasedValues: limit(
    100_000, "values", "values to which the aliases of a manifest file expand", "the file is rejected",
  ),
  containedLevels: limit(
    3, "levels", "levels of templates in objects",
    "deeper templates are not judged",
  ),
  faultsPerFile: limit(100, "faults", "faults of a manifest file", "a message counts the others"),
  tokenCharacters: limit(4_096, "characters", "content of `--token-file`", "the file is rejected"),
  formParameters: limit(250, "entries", "parameters of a form at `/sts`", "HTTP 400"),
  queryParameters: limit(100, "entries", "parameters of a query at `/v1/credentials`", "HTTP 400"),
  webhookConnections: limit(
    512, "connections", "connections that the webhook serves",
    "the one idle or sending longest is closed, or HTTP 503",
  ),
  webhookAccepted: limit(1_024, "connections", "connections that the webhook accepts", ACCEPTED_BEYOND),
  webhookResponse: limit(40_000, "ms", "a review, with the transfer of its body and of the response", LATE),
  identitySecretBytes: limit(
    256 * 1024, "bytes", "Secret of an AWSClusterStaticIdentity",
    "the identity is denied unparsed: ERR_IDENTITY_SECRET",
  ),
  tokenResponseBytes: limit(
    256 * 1024, "bytes", "response that contains a token of a ServiceAccount",
    "rejected unparsed: ERR_CLUSTER_UNREADABLE",
  ),
  listPageBytes: limit(
    8 * 1024 * 1024, "bytes", "page of a list that the API server returns",
    "requested again with fewer objects (one object may have 16 MiB)",
  ),
  sidecarConnections: limit(512, "connections", "connections that the sidecar serves", SERVED_BEYOND),
  sidecarAccepted: limit(1_024, "connections", "connections that the sidecar accepts", ACCEPTED_BEYOND),
  sidecarResponse: limit(10_000, "ms", "a request to the sidecar, with both transfers", LATE),
  healthConnections: limit(64, "connections", "connections that a health listener serves", SERVED_BEYOND),
  healthAccepted: limit(128, "connections", "connections that a health listener accepts", ACCEPTED_BEYOND),
  healthResponse: limit(5_000, "ms", "a probe, with the transfer of the response", LATE),
  emulatorConnections: limit(256, "connections", "connections that the STS emulator of `local` serves", SERVED_BEYOND),
  emulatorAccepted: limit(1_024, "connections", "connections that the STS emulator accepts", ACCEPTED_BEYOND),
  emulatorResponse: limit(
    40_000, "ms", "a request to the STS emulator, with both transfers", LATE,
  ),
  emulatorSessions: limit(
    10_000, "entries", "role sessions that the STS emulator stores", "the oldest session is deleted",
  ),
  completionWait: limit(
    1_000, "ms", "the answer of a cluster to a completion", "the shell completes no names of the cluster",
  ),
  completedNames: limit(500, "entries", "names of a kind that a completion reads", "the others are not completed"),
  reportedEvents: limit(500, "entries", "Events about an object that `why` reads", "the others are ignored"),
  mapNamespaces: limit(
    5_000, "entries", "namespaces in a role map", MAP_BEYOND,
  ),
  mapSelectors: limit(5_000, "entries", "selectors in a role map", MAP_BEYOND),
  mapReasons: limit(5_000, "entries", "different reasons for a role in a role map", MAP_BEYOND),
  mapObjects: limit(1_000, "entries", "other objects with findings, and unread files, in a role map", MAP_BEYOND),
  mapUses: limit(100, "entries", "kinds of resources of a namespace in a role map, each reason by itself", MAP_BEYOND),
  mapNames: limit(20_000, "entries", "names of resources in a role map, at most 50 of a kind and reason", MAP_BEYOND),
  pendingWrites: limit(
    256, "entries", "pending changes of selectors and role identities, of all replicas",
    PENDING_BEYOND,
  ),
  /** In UTF-8, at most 768 KiB: the API server limits the data of a ConfigMap to 1 MiB. */
  pendingCharacters: limit(256 * 1024, "characters", "pending changes, together", PENDING_BEYOND),
  pendingWriteCharacters: limit(
    64 * 1024, "characters", "one pending change", "the selector is compared as if it selected every resource",
  ),
  /** The API server ends a write after 34 s (k8s.io/apiserver pkg/endpoints/handlers/rest.go). */
  observedDenials: limit(
    200, "entries", "admissions that `enforce` would have denied, by reason and object, in the profile `observe`",
    "the oldest are only counted by check",
  ),
  pendingMs: limit(
    34_000, "ms", "time until the watch delivers a pending change",
    "it is no longer compared",
  ),
  watchProofMs: limit(
    5_000, "ms", "age of the proof that a watch is current",
    "decisions on rights and selectors ask for a new one, or deny: ERR_INVENTORY_STALE",
  ),
  eventSeries: limit(
    5_000, "entries", "series of Events in namespaces, and of cluster-scoped objects",
    "others start when one has not been reported for 2 h",
  ),
  queuedRefreshes: limit(
    100_000, "entries", "resources and clusters that wait for an update of their annotations",
    "the others are found again later",
  ),
} as const satisfies Record<string, Limit>;

function limit<const Value extends number>(
  value: Value, unit: Limit["unit"], bounds: string, beyond: string,
): Limit & { readonly value: Value } {
  return { value, unit, bounds, beyond };
}

const BOUNDS = { maxDepth: LIMITS.objectDepth.value, maxValues: LIMITS.objectValues.value };

/**
 * Returns the first limit of reviewed objects that the object exceeds, or null. Visits at most 20,000 values. Does not
 * count `managedFields`: every user who may patch an object adds to them, and the other users could not change the
 * object anymore.
 */
export function objectExcess(object: JsonObject): Excess | null {
  return excessOf(withoutManagedFields(object), BOUNDS) ?? metadataExcess(object);
}

/** Returns the limit that the number of labels or of annotations exceeds, or null. */
export function metadataExcess(object: JsonObject): Excess | null {
  return entriesExcess(object, "labels") ?? entriesExcess(object, "annotations");
}

function withoutManagedFields(object: JsonObject): JsonObject {
  const metadata = field(object, "metadata");
  if (field(metadata, "managedFields") === undefined) return object;
  return { ...object, metadata: omitField(metadata, "managedFields") };
}

function entriesExcess(object: JsonObject, name: "labels" | "annotations"): Excess | null {
  const map = field(field(object, "metadata"), name);
  const entries = isJsonObject(map) ? Object.keys(map).length : 0;
  const { value } = LIMITS.metadataEntries;
  if (entries <= value) return null;
  return { path: ["metadata", name], message: `${entries} ${name} exceed the limit of ${value}` };
}
