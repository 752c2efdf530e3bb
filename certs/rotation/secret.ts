import type { X509Certificate } from "node:crypto";
import { quote } from "../../shared/decisions/kubernetes/text.ts";
import { field, isJsonObject, type JsonObject, stringAt } from "../../shared/decisions/kubernetes/json.ts";
import { canIssue, type CertificateAndKey } from "../make.ts";
import { permitsOnly } from "../name-constraints.ts";
import { isSignedBy, missingHosts, splitCertificates } from "../pem.ts";
import { type Entry, type ParsedPair, parsePair } from "./stored-pair.ts";

/** The keys of the data of the Secret that contains the CA. */
const SECRET_KEYS = {
  cert: "tls.crt", key: "tls.key", ca: "ca.crt", caKey: "ca.key",
  /** The CA of the next rotation step. The API server must trust it before it signs a certificate. */
  nextCA: "next-ca.crt", nextCAKey: "next-ca.key",
  /** The CAs whose certificates a replica may still serve. Their keys are deleted. */
  previousCA: "previous-ca.crt",
} as const;

/** The annotation of the Secret by which a user requests a new certificate (`leaf`) or a new CA (`ca`). */
const ROTATE_ANNOTATION = "ack-role-resolver.io/rotate";

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
}

interface ParseContext {
  readonly hosts: readonly string[];
  /** Whether this installation issued the CA, which is a PEM certificate. */
  readonly isOwn: (authorityPEM: string) => boolean;
}

/** Parses the Secret. Does not compare times. Never throws, because any program may have written the data. */
export function parseSecret(secret: JsonObject, context: ParseContext): StoredCertificates {
  const faults: string[] = [];
  const entry = (key: string): Entry => {
    const value = stringAt(secret, "data", key);
    return [key, value === null ? null : Buffer.from(value, "base64").toString("utf8")];
  };
  const pair = (certKey: string, keyKey: string): ParsedPair | null => {
    const parsed = parsePair(entry(certKey), entry(keyKey));
    if (!("faults" in parsed)) return parsed;
    faults.push(...parsed.faults);
    return null;
  };
  const K = SECRET_KEYS;
  const ca = authority(pair(K.ca, K.caKey), [K.ca, context, faults]);
  const hasNext = [K.nextCA, K.nextCAKey].some((key) => entry(key)[1] !== null);
  const next = hasNext ? authority(pair(K.nextCA, K.nextCAKey), [K.nextCA, context, faults]) : null;
  const leaf = leafOf(pair(K.cert, K.key), context.hosts);
  if (leaf !== null && ca !== null && !isSignedBy(leaf.certificate, ca.cert)) {
    faults.push(`${K.cert}: not signed by the CA in ${K.ca}`);
  }
  const previous = previousOf(entry(K.previousCA), context, faults);
  const rotate = stringAt(secret, "metadata", "annotations", ROTATE_ANNOTATION);
  return { leaf: leaf?.stored ?? null, ca, next, previous, rotate, faults };
}

/** The entry, what is known about the installation, and the list to which a fault is added. */
type Validation = readonly [certKey: string, context: ParseContext, faults: string[]];

const NOT_ISSUED = "a CA that this installation did not issue";

function authority(pair: ParsedPair | null, [certKey, context, faults]: Validation): StoredAuthority | null {
  if (pair === null) return null;
  const { cert, key, certificate } = pair;
  const fault = authorityFault(pair, context);
  if (fault === null) return { cert, key, ...datesOf(certificate), permitsHosts: permitsOnly(cert, context.hosts) };
  faults.push(`${certKey}: ${fault}`);
  return null;
}

function authorityFault(pair: ParsedPair, { isOwn }: ParseContext): string | null {
  if (!pair.certificate.ca) return "not the certificate of a CA";
  // All CAs of this program can issue. So a pair with another kind of key comes from another program.
  return canIssue(pair) && isOwn(pair.cert) ? null : NOT_ISSUED;
}

/** Returns the CAs of the entry that this installation issued. Adds a fault if the entry contains anything else. */
function previousOf([key, text]: Entry, { isOwn }: ParseContext, faults: string[]): string[] {
  if (text === null) return [];
  const previous = [...new Set(splitCertificates(text))].filter(isOwn);
  if (previous.length === 0 || previous.join("") !== text) faults.push(`${key}: contains ${NOT_ISSUED}, or other text`);
  return previous;
}

interface ParsedLeaf {
  readonly stored: StoredLeaf;
  readonly certificate: X509Certificate;
}

function leafOf(pair: ParsedPair | null, hosts: readonly string[]): ParsedLeaf | null {
  if (pair === null) return null;
  const { cert, key, certificate } = pair;
  const stored = { cert, key, ...datesOf(certificate), missingHosts: missingHosts(certificate, hosts) };
  return { stored, certificate };
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

/** Returns all CAs, as PEM, each once: the current one first. */
export function authoritiesOf({ ca, next, previous }: Omit<CertificateSet, "leaf" | "ca"> & {
  readonly ca: CertificateAndKey | null;
}): string[] {
  const current = [ca, next].flatMap((one) => one?.cert ?? []);
  return [...new Set([...current, ...previous])];
}

function asObject(value: unknown): Record<string, unknown> {
  return isJsonObject(value) ? { ...value } : {};
}
