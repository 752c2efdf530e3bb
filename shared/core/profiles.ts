export const PROFILE_NAMES = ["observe", "enforce", "strict"] as const;
export type Profile = (typeof PROFILE_NAMES)[number];

type Row<V> = { readonly [P in Profile]: V } & { readonly why: string };
type FailurePolicy = "Fail" | "Ignore";

function row<const V>(observe: V, enforce: V, strict: V, why: string): Row<V> {
  return { observe, enforce, strict, why };
}

/** Stands for every other check that denies, in a list of severities by check. */
export const OTHER_CHECKS = "*";

/**
 * The checks that deny in every profile, unless `--check` names them, and the limits of the objects in which they would
 * otherwise not be looked for.
 */
export const ALWAYS_DENYING: ReadonlySet<string> = new Set([
  "IRS-24", "WAIVER-01", "NS-17", "CM-15", "IRS-48", "NS-14", "CM-14",
]);

/** What a profile sets: the layer below flags and environment variables. Each of these can be set on its own too. */
export const PROFILES = {
  check: row<readonly string[]>(
    [`${OTHER_CHECKS}=warn`], [],
    [
      "ACK-05=deny", "AC-03=deny", "ACK-09=deny", "NS-02=deny", "AC-05=deny",
      "ACK-37=deny", "ACK-38=deny", "FE-03=deny",
    ],
    "a trial blocks nobody; in `strict`, a typo does not create a bucket in the controllers' account, each requester "
      + "needs the verb `use`, and nothing crosses namespaces",
  ),
  internalError: row<"admit" | "deny">("admit", "deny", "deny", "a trial blocks nobody"),
  failurePolicy: row<FailurePolicy>(
    "Ignore", "Fail", "Fail", "selectors, CARM maps, FieldExports, identities and Pods decide about credentials",
  ),
  otherFailurePolicy: row<FailurePolicy>(
    "Ignore", "Ignore", "Fail", "resources, clusters and Namespaces: an outage is no way around the checks",
  ),
  base: row<"identity-only" | null>(null, null, "identity-only", "clients get no credentials without a selector"),
  unmatched: row<"deny" | null>(null, null, "deny", "clients get no credentials without a selector"),
  sessionScope: row<"service" | null>(null, null, "service", "a session does no more than its controller needs"),
} as const;
