/** A limit for the size of a request, an object or a file. docs/limits.md is generated from the limits. */
export interface Limit {
  readonly value: number;
  readonly unit: "bytes" | "levels" | "values" | "entries" | "characters" | "faults" | "steps" | "connections" | "ms";
  /** The thing whose size is limited. */
  readonly bounds: string;
  /** The effect if the limit is exceeded. */
  readonly beyond: string;
}

const LIMIT_CHECKS = "checks AC-08, ACK-35, CI-34, CM-14, FE-02, IRS-48, NS-14 and POD-10";
const REVIEW_BEYOND = `the webhook denies the object without parsing it (${LIMIT_CHECKS}), or checks its deletion with `
  + "the fields in the inventory";
const DENIED = `the webhook denies the object, unless it is deleted (${LIMIT_CHECKS})`;
const SELECTOR_DENIED = "the webhook denies the selector (IRS-48), and sidecars do not grant its role";
const SERVED_BEYOND = "the server closes the connection that has been idle longest; if no connection is idle, it "
  + "returns HTTP 503";
const ACCEPTED_BEYOND = "the new connection is reset";
const LATE = "the connection is closed";
const PENDING_BEYOND = "the webhook denies the change: ERR_PENDING_WRITES";

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
    64 * 1024, "bytes", "body of an AdmissionReview that is always stored",
    "the body counts toward the next limit; if it exceeds a limit, only this part is stored",
  ),
  largeReviewsBytes: limit(
    32 * 1024 * 1024, "bytes", "all bodies in flight of more than 64 KiB",
    "the webhook denies a review of the requester with the largest bodies; the request can be retried",
  ),
  reviewValues: limit(
    50_000, "values", "values of an AdmissionReview, at any depth, without `managedFields`", REVIEW_BEYOND,
  ),
  reviewCharacters: limit(
    4_096, "characters", "each name of an object, a namespace, a user or a group in an AdmissionReview",
    REVIEW_BEYOND,
  ),
  reviewGroups: limit(10_000, "entries", "groups of the requester in an AdmissionReview", REVIEW_BEYOND),
  objectDepth: limit(100, "levels", "nesting of a reviewed object, without `managedFields`", DENIED),
  objectValues: limit(
    20_000, "values", "values of a reviewed object, at any depth, without `managedFields`", DENIED,
  ),
  metadataEntries: limit(
    1_000,
    "entries",
    "each of `metadata.labels` and `metadata.annotations` of a reviewed object",
    `${DENIED}; the sidecar grants no role in such a Namespace`,
  ),
  selectorNamespaces: limit(1_000, "entries", "`spec.namespaceSelector.names`", SELECTOR_DENIED),
  selectorTypes: limit(1_000, "entries", "`spec.resourceTypeSelector`", SELECTOR_DENIED),
  selectorLabels: limit(
    100, "entries", "each of `matchLabels` and `matchExpressions` of an IAMRoleSelector", SELECTOR_DENIED,
  ),
  annotationCharacters: limit(
    32_768,
    "characters",
    "an annotation `ack-role-resolver.io/*` of an IAMRoleSelector",
    SELECTOR_DENIED,
  ),
  listedEntries: limit(
    100,
    "entries",
    "entries of a comma-separated list in an annotation",
    "the other entries are ignored, and one fault reports their number",
  ),
  accessReviews: limit(
    100, "entries", "access reviews for one request, one for each IAMRoleSelector or identity",
    "ACK-09, NS-02 and AC-05 deny the request",
  ),
  identityRoles: limit(
    8, "entries", "AWSClusterRoleIdentities in a chain of identities",
    "the chain is refused: ERR_IDENTITY_DEPTH",
  ),
  secretFields: limit(
    2_000, "values", "`metadata.managedFields` of a Secret of a static identity; in manifests also its keys",
    "the names of the keys are unknown, so CI-10 does not check them",
  ),
  grantedTypes: limit(
    10_000, "entries", "kinds and versions that the selectors of a namespace name, for credential requests without a "
      + "kind",
    "the sidecar denies the request: ERR_SELECTOR_AMBIGUOUS",
  ),
  grantSteps: limit(
    100_000, "steps", "steps of one decision on a role, such as comparisons of a selector with a kind",
    "the sidecar denies the request: ERR_SELECTOR_AMBIGUOUS",
  ),
  faultsPerCheck: limit(
    20,
    "faults",
    "faults that one check reports for an object",
    "an additional message counts the faults that are not listed",
  ),
  faultsPerObject: limit(
    100,
    "faults",
    "faults that all checks report for an object",
    "an additional message counts the faults that are not listed",
  ),
  manifestBytes: limit(64 * 1024 * 1024, "bytes", "a manifest file, or standard input", "the file is rejected"),
  manifestDocuments: limit(20_000, "entries", "YAML documents in a manifest file", "the file is rejected"),
  manifestValues: limit(
    50_000,
    "values",
    "values of an object in a manifest that the webhook or the sidecar reads with `--from`",
    "the file is rejected",
  ),
  aliasedValues: limit(
    100_000,
    "values",
    "values that the aliases of a manifest file expand to",
    "the file is rejected",
  ),
  faultsPerFile: limit(100, "faults", "faults of a manifest file", "one more fault states how many faults are not "
    + "listed"),
  tokenCharacters: limit(4_096, "characters", "content of `--token-file`", "the file is rejected"),
  formParameters: limit(250, "entries", "parameters of a form at `/sts`", "HTTP 400"),
  queryParameters: limit(100, "entries", "parameters of a query at `/v1/credentials`", "HTTP 400"),
  webhookConnections: limit(
    512, "connections", "connections that the webhook serves",
    "the server closes the connection that has been idle or sending a body longest; if there is none, it returns HTTP "
      + "503",
  ),
  webhookAccepted: limit(1_024, "connections", "connections that the webhook accepts", ACCEPTED_BEYOND),
  webhookResponse: limit(40_000, "ms", "response time of a review, including the transfer of its body and of the "
    + "response", LATE),
  identitySecretBytes: limit(
    256 * 1024, "bytes", "Secret of an AWSClusterStaticIdentity",
    "the sidecar does not parse the Secret, and denies the identity: ERR_IDENTITY_SECRET",
  ),
  tokenResponseBytes: limit(
    256 * 1024, "bytes", "response of the API server that contains a token of a ServiceAccount",
    "the sidecar does not parse the response: ERR_CLUSTER_UNREADABLE",
  ),
  listPageBytes: limit(
    8 * 1024 * 1024, "bytes", "page of a list that the API server returns",
    "the server requests the page again with fewer objects; one object may have 16 MiB",
  ),
  sidecarConnections: limit(256, "connections", "connections that the sidecar serves", SERVED_BEYOND),
  sidecarAccepted: limit(1_024, "connections", "connections that the sidecar accepts", ACCEPTED_BEYOND),
  sidecarResponse: limit(10_000, "ms", "response time of a request, including the transfer of its body and of the "
    + "response", LATE),
  healthConnections: limit(64, "connections", "connections that each health listener serves", SERVED_BEYOND),
  healthAccepted: limit(128, "connections", "connections that each health listener accepts", ACCEPTED_BEYOND),
  healthResponse: limit(5_000, "ms", "response time of a probe, including the transfer of the response", LATE),
  emulatorConnections: limit(256, "connections", "connections that the STS emulator of `local` serves", SERVED_BEYOND),
  emulatorAccepted: limit(1_024, "connections", "connections that the STS emulator accepts", ACCEPTED_BEYOND),
  emulatorResponse: limit(
    40_000, "ms", "response time of the STS emulator, including the transfer of the request and the response", LATE,
  ),
  emulatorSessions: limit(
    10_000, "entries", "role sessions that the STS emulator stores", "the emulator deletes the oldest session",
  ),
  pendingWrites: limit(
    256,
    "entries",
    "admitted changes of IAMRoleSelectors and of role identities, of all replicas, that the watch has not delivered",
    PENDING_BEYOND,
  ),
  /** In UTF-8, at most 768 KiB: the API server limits the data of a ConfigMap to 1 MiB. */
  pendingCharacters: limit(256 * 1024, "characters", "these changes together", PENDING_BEYOND),
  pendingWriteCharacters: limit(
    64 * 1024,
    "characters",
    "one of these changes",
    "the webhook stores the selector without its conditions, and so compares it as if it selected every resource",
  ),
  /** The API server ends a write after 34 s (k8s.io/apiserver pkg/endpoints/handlers/rest.go). */
  pendingMs: limit(
    34_000,
    "ms",
    "time until the watch delivers an admitted change of an IAMRoleSelector or a role identity",
    "the change is no longer compared with later requests, because the API server cannot store it anymore",
  ),
  eventSeries: limit(
    5_000, "entries", "objects and reasons for which a server writes Events, each of cluster-scoped objects and of "
      + "objects in namespaces",
    "the server writes no Event for other objects and reasons, until it has reported none of these for 2 h",
  ),
  queuedRefreshes: limit(
    100_000, "entries", "resources and clusters that wait for an update of their annotations",
    "the webhook finds the others again when the first ones are updated",
  ),
} as const satisfies Record<string, Limit>;

function limit<const Value extends number>(
  value: Value, unit: Limit["unit"], bounds: string, beyond: string,
): Limit & { readonly value: Value } {
  return { value, unit, bounds, beyond };
}
