import type { X509Certificate } from "node:crypto";
import type { CertificateAndKey } from "../../certs/make.ts";
import { permitsNames } from "../../certs/name-constraints.ts";
import { missingHosts, parseCertificate, parsePrivateKey, splitCertificates } from "../../certs/pem.ts";
import { field, isJsonObject, type JsonObject, stringAt } from "../../shared/decisions/kubernetes/json.ts";
import { quote } from "../../shared/decisions/kubernetes/text.ts";

/**
 * The keys of the Secret's data. `tls.crt`, `tls.key` and `ca.crt` have the names that a Secret of type
 * kubernetes.io/tls has.
 */
const SECRET_KEYS = {
  cert: "tls.crt", key: "tls.key", ca: "ca.crt", caKey: "ca.key",
  /** The CA of the next rotation step. The API server must trust it before it signs a certificate. */
  nextCA: "next-ca.crt", nextCAKey: "next-ca.key",
  /** The CAs whose certificates a replica may still serve. Their keys are deleted. */
  previousCA: "previous-ca.crt",
} as const;

/** The annotation of the Secret by which a user requests a new certificate (`leaf`) or a new CA (`ca`). */
const ROTATE_ANNOTATION = "ack-role-resolver.io/rotate";

/** The annotation of a Secret that cert-manager writes. */
const CERT_MANAGER_ANNOTATION = "cert-manager.io/certificate-name";

/** The certificates that the Secret stores, as PEM. */
export interface CertificateSet {
  readonly leaf: CertificateAndKey;
  /** The CA that signed `leaf`. */
  readonly ca: CertificateAndKey;
  readonly next: CertificateAndKey | null;
  readonly previous: readonly string[];
}

interface Dated extends CertificateAndKey {
  /** In ms since the Unix epoch. */
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

export interface StoredAuthority extends Dated {
  /** Whether the CA can sign a certificate for the names of the webhook. */
  readonly permitsHosts: boolean;
}

export interface StoredLeaf extends Dated {
  /** The names of the webhook for which the certificate is not valid. */
  readonly missingHosts: readonly string[];
  /** Whether the CA in the Secret signed the certificate. */
  readonly isTrusted: boolean;
}

/** The content of the Secret. A part that is missing or invalid is null, and has a fault. */
export interface StoredCertificates {
  readonly leaf: StoredLeaf | null;
  readonly ca: StoredAuthority | null;
  readonly next: StoredAuthority | null;
  readonly previous: readonly string[];
  readonly rotate: string | null;
  /** What is wrong with the content: the key of the data and the expected value. A fault never contains a value. */
  readonly faults: readonly string[];
  /** Whether another program writes the Secret. The webhook then does not change the Secret. */
  readonly isForeign: boolean;
}

/** Parses the Secret. Does not compare times. */
export function parseSecret(secret: JsonObject, hosts: readonly string[]): StoredCertificates {
  const faults: string[] = [];
  const text = (key: string): string | null => {
    const value = stringAt(secret, "data", key);
    return value === null ? null : Buffer.from(value, "base64").toString("utf8");
  };
  const pair = (certKey: string, keyKey: string): ParsedPair | null => {
    const parsed = parsePair([certKey, text(certKey)], [keyKey, text(keyKey)]);
    if (!("faults" in parsed)) return parsed;
    faults.push(...parsed.faults);
    return null;
  };
  const K = SECRET_KEYS;
  const ca = authority(pair(K.ca, K.caKey), [K.ca, hosts, faults]);
  const hasNext = text(K.nextCA) !== null || text(K.nextCAKey) !== null;
  const next = hasNext ? authority(pair(K.nextCA, K.nextCAKey), [K.nextCA, hosts, faults]) : null;
  const leaf = leafOf(pair(K.cert, K.key), ca, hosts);
  if (leaf !== null && ca !== null && !leaf.isTrusted) faults.push(`${K.cert}: not signed by the CA in ${K.ca}`);
  const previousText = text(K.previousCA);
  const previous = splitCertificates(previousText ?? "").filter((one) => parseCertificate(one)?.ca === true);
  if (previousText !== null && previous.length === 0) faults.push(`${K.previousCA}: not a PEM certificate of a CA`);
  const rotate = stringAt(secret, "metadata", "annotations", ROTATE_ANNOTATION);
  const isForeign = stringAt(secret, "metadata", "annotations", CERT_MANAGER_ANNOTATION) !== null;
  return { leaf, ca, next, previous, rotate, faults, isForeign };
}

interface ParsedPair extends CertificateAndKey {
  readonly certificate: X509Certificate;
}

type Entry = readonly [key: string, text: string | null];

function parsePair([certKey, cert]: Entry, [keyKey, key]: Entry): ParsedPair | { readonly faults: string[] } {
  if (cert === null && key === null) return { faults: [`${certKey}, ${keyKey}: missing`] };
  const pair = { cert: cert ?? "", key: key ?? "" };
  const certificate = parseCertificate(pair.cert);
  const privateKey = parsePrivateKey(pair.key);
  const faults: string[] = [];
  if (certificate === null) faults.push(`${certKey}: not a PEM certificate`);
  if (privateKey === null) faults.push(`${keyKey}: not a PEM private key without a passphrase`);
  if (certificate === null || privateKey === null) return { faults };
  if (certificate.checkPrivateKey(privateKey)) return { ...pair, certificate };
  return { faults: [`${keyKey}: not the private key of the certificate in ${certKey}`] };
}

type AuthorityContext = readonly [certKey: string, hosts: readonly string[], faults: string[]];

function authority(pair: ParsedPair | null, [certKey, hosts, faults]: AuthorityContext): StoredAuthority | null {
  if (pair === null) return null;
  const { cert, key, certificate } = pair;
  if (certificate.ca) return { cert, key, ...datesOf(certificate), permitsHosts: permitsNames(cert, hosts) };
  faults.push(`${certKey}: not the certificate of a CA`);
  return null;
}

function leafOf(
  pair: ParsedPair | null, ca: CertificateAndKey | null, hosts: readonly string[],
): StoredLeaf | null {
  if (pair === null) return null;
  const { cert, key, certificate } = pair;
  const isTrusted = ca !== null && isSignedBy(certificate, ca.cert);
  return { cert, key, ...datesOf(certificate), missingHosts: missingHosts(certificate, hosts), isTrusted };
}

/** Whether the CA signed the certificate. Both are PEM certificates or parsed certificates. */
export function isSignedBy(certificate: X509Certificate, authorityPEM: string): boolean {
  const issuer = parseCertificate(authorityPEM);
  return issuer !== null && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

function datesOf({ validFromDate, validToDate }: X509Certificate): { notBeforeMs: number; notAfterMs: number } {
  return { notBeforeMs: validFromDate.getTime(), notAfterMs: validToDate.getTime() };
}

/** Which steps fulfill the request of the rotate annotation. */
const FULFILLED_BY: ReadonlyMap<unknown, readonly string[]> = new Map([
  ["leaf", ["issue", "create", "switch"]], ["ca", ["stage", "create"]],
]);

/** Returns what is wrong with the rotate annotation, or null. */
export function annotationFault({ rotate }: StoredCertificates): string | null {
  if (rotate === null || FULFILLED_BY.has(rotate)) return null;
  return `annotation ${ROTATE_ANNOTATION}: ${quote(rotate)}: expected leaf or ca; correct or remove the annotation`;
}

/**
 * Returns the Secret with the certificates, for an update. Removes the rotate annotation if the step fulfills its
 * request.
 */
export function withCertificates(secret: JsonObject, set: CertificateSet, step: string): JsonObject {
  const { leaf, ca, next, previous } = set;
  const texts: Readonly<Record<string, string | null>> = {
    [SECRET_KEYS.cert]: leaf.cert, [SECRET_KEYS.key]: leaf.key,
    [SECRET_KEYS.ca]: ca.cert, [SECRET_KEYS.caKey]: ca.key,
    [SECRET_KEYS.nextCA]: next?.cert ?? null, [SECRET_KEYS.nextCAKey]: next?.key ?? null,
    [SECRET_KEYS.previousCA]: previous.length === 0 ? null : previous.join(""),
  };
  const data = { ...asObject(field(secret, "data")) };
  for (const [key, text] of Object.entries(texts)) {
    if (text === null) delete data[key];
    else data[key] = Buffer.from(text).toString("base64");
  }
  const metadata = asObject(field(secret, "metadata"));
  const annotations = asObject(field(metadata, "annotations"));
  const { [ROTATE_ANNOTATION]: rotate, ...others } = annotations;
  const isFulfilled = FULFILLED_BY.get(rotate)?.includes(step) === true;
  const kept = isFulfilled ? others : annotations;
  return { ...secret, apiVersion: "v1", kind: "Secret", metadata: { ...metadata, annotations: kept }, data };
}

function asObject(value: unknown): Record<string, unknown> {
  return isJsonObject(value) ? { ...value } : {};
}
