import { type CertificateAndKey, issueCertificate, makeAuthority } from "../../../certs/make.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import type { StoredAuthority, StoredCertificates, StoredLeaf } from "../../../certs/rotation/secret.ts";

export const DAY_MS = 86_400_000;
export const HOSTS = ["hook.ns.svc", "hook.ns.svc.cluster.local"];
export const NOW_MS = Date.parse("2026-01-01T00:00:00Z");
export const TIMING = { leafMs: 30 * DAY_MS, caMs: 365 * DAY_MS, publishMs: 60_000, retireMs: 600_000 };

/** Returns a valid leaf, for decisions that read no PEM. */
export function leaf(overrides: Partial<StoredLeaf> = {}): StoredLeaf {
  return {
    cert: "leaf", key: "leaf key", notBeforeMs: NOW_MS, notAfterMs: NOW_MS + 30 * DAY_MS, missingHosts: [],
    ...overrides,
  };
}

/** Returns a valid CA, for decisions that read no PEM. */
export function authority(overrides: Partial<StoredAuthority> = {}): StoredAuthority {
  return {
    cert: "ca", key: "ca key", notBeforeMs: NOW_MS, notAfterMs: NOW_MS + 365 * DAY_MS, permitsHosts: true, ...overrides,
  };
}

export function stored(overrides: Partial<StoredCertificates> = {}): StoredCertificates {
  return {
    leaf: leaf(), ca: authority(), next: null, previous: [], rotate: null, faults: [], ...overrides,
  };
}

/** Returns a new CA that is valid from five minutes before `nowMs`. */
export function makeCA(nowMs = NOW_MS, names = HOSTS): Promise<CertificateAndKey> {
  return makeAuthority({ names, now: new Date(nowMs), notAfter: new Date(nowMs + 365 * DAY_MS) });
}

/** Returns a new certificate of the CA. */
export function makeLeaf(ca: CertificateAndKey, nowMs = NOW_MS, hosts = HOSTS): Promise<CertificateAndKey> {
  return issueCertificate(ca, { hosts, now: new Date(nowMs), notAfter: new Date(nowMs + 30 * DAY_MS) });
}

/** Returns a Secret that has the texts as its data. */
export function secretWith(texts: Readonly<Record<string, string>>, annotations: JsonObject = {}): JsonObject {
  const data = Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString("base64")]);
  return {
    apiVersion: "v1", kind: "Secret", type: "Opaque",
    metadata: { namespace: "ns", name: "tls", resourceVersion: "1", annotations }, data: Object.fromEntries(data),
  };
}
