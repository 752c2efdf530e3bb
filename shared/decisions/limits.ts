/** A limit for the size of a request, an object or a file. docs/limits.md is generated from the limits. */
export interface Limit {
  readonly value: number;
  readonly unit: "bytes" | "levels" | "values" | "entries" | "characters" | "faults";
  /** The thing whose size is limited. */
  readonly bounds: string;
  /** The effect if the limit is exceeded. */
  readonly beyond: string;
}

/** All limits of the project. A limit is checked before the limited data is read. */
export const LIMITS = {
  /**
   * The API server accepts 3 MiB from a client. The review of an UPDATE contains the new object, the stored object, and
   * less than 1 MiB more. controller-runtime has the same limit (pkg/webhook/admission/http.go).
   */
  reviewBytes: limit(7 * 1024 * 1024, "bytes", "body of an AdmissionReview", "HTTP 413"),
  objectDepth: limit(100, "levels", "nesting of a reviewed object", "denied: ACK-35, CM-14, IRS-48 or NS-14"),
  objectValues: limit(100_000, "values", "values of a reviewed object, at any depth", "denied: ACK-35, CM-14 or NS-14"),
  selectorValues: limit(
    20_000,
    "values",
    "values of an IAMRoleSelector, at any depth",
    "denied and not granted: IRS-48",
  ),
  selectorNamespaces: limit(1_000, "entries", "`spec.namespaceSelector.names`", "denied and not granted: IRS-48"),
  selectorTypes: limit(1_000, "entries", "`spec.resourceTypeSelector`", "denied and not granted: IRS-48"),
  selectorLabels: limit(100, "entries", "`matchLabels` and `matchExpressions`, each", "denied and not granted: IRS-48"),
  annotationCharacters: limit(
    32_768,
    "characters",
    "an annotation `ack-role-resolver.io/*` of an IAMRoleSelector",
    "denied and not granted: IRS-48",
  ),
  listedEntries: limit(
    100,
    "entries",
    "a comma-separated list in an annotation",
    "the other entries are ignored, and one fault reports their number",
  ),
  faultsPerCheck: limit(
    20,
    "faults",
    "faults that one check reports for an object",
    "one fault reports the number of other faults",
  ),
  faultsPerObject: limit(
    100,
    "faults",
    "faults that all checks report for an object",
    "one fault reports the number of other faults",
  ),
} as const satisfies Record<string, Limit>;

function limit<const Value extends number>(
  value: Value, unit: Limit["unit"], bounds: string, beyond: string,
): Limit & { readonly value: Value } {
  return { value, unit, bounds, beyond };
}
