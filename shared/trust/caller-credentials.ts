import type { IAMData } from "./iam-data.ts";
import type { Credentials } from "./added-tags.ts";
import { trustedBy } from "./trusted.ts";

/**
 * Returns the credentials of callers, as their own trust policies show; null if an export lacks one of them. If one of
 * them can use Pod Identity, all are treated so.
 */
export function credentialsOf(callers: readonly string[], data: IAMData): Credentials | null {
  const found = new Set(callers.map((caller): Credentials | null => {
    const trust = data.role(caller)?.trust ?? null;
    const policy = trust === null ? null : data.parse(trust, "trust").policy;
    if (policy === null) return null;
    return trustedBy(policy).some(({ name }) => name === "pods.eks.amazonaws.com") ? "pod-identity" : "irsa";
  }));
  if (found.has("pod-identity")) return "pod-identity";
  return found.has(null) ? null : "irsa";
}
