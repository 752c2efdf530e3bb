import { parseCertificate } from "../../certs/pem.ts";
import { isCurrent, validity } from "./plan.ts";
import { isSignedBy, type StoredCertificates, type StoredLeaf } from "./secret.ts";

/**
 * Returns null if the replica must serve the certificate in the Secret. Otherwise, returns what is wrong with the
 * certificate. A certificate never replaces a better one. A certificate for other names is better than none, because
 * the configured names may be wrong.
 */
export function servingFault(stored: StoredCertificates, served: StoredLeaf | null, nowMs: number): string | null {
  const { leaf, faults } = stored;
  if (leaf === null) return faults.join("; ");
  if (!isCurrent(leaf, nowMs)) return `tls.crt: ${validity(leaf)}`;
  if (served === null || !isCurrent(served, nowMs) || served.missingHosts.length > 0) return null;
  if (!leaf.isTrusted) return faults.join("; ");
  if (leaf.missingHosts.length === 0 || !isStillTrusted(stored, served)) return null;
  return `tls.crt: not valid for ${leaf.missingHosts.join(", ")}`;
}

/** Whether a CA in the Secret signed the served certificate. The API server trusts only these CAs. */
function isStillTrusted({ ca, next, previous }: StoredCertificates, { cert }: StoredLeaf): boolean {
  const certificate = parseCertificate(cert);
  const trusted = [ca, next].flatMap((one) => one?.cert ?? []);
  return certificate !== null && [...trusted, ...previous].some((one) => isSignedBy(certificate, one));
}

/** Whether this replica can write the certificates to the Secret again: all of them are complete and still valid. */
export function isRestorable(stored: StoredCertificates | null, nowMs: number): boolean {
  if (stored === null || stored.ca === null || stored.leaf === null || stored.faults.length > 0) return false;
  return isCurrent(stored.ca, nowMs) && isCurrent(stored.leaf, nowMs);
}
