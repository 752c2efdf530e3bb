import { type KeyObject, sign, verify, type X509Certificate } from "node:crypto";
import { field, isJsonObject, type JsonObject, stringAt } from "../../shared/formats/json.ts";
import { quote } from "../../shared/formats/text.ts";
import { canIssue, type CertificateAndKey } from "../make.ts";
import { permitsOnly } from "../name-constraints.ts";
import { isSignedBy, missingHosts, parseCertificate, parsed, parsePrivateKey, splitCertificates } from "../pem.ts";

interface ParsedPair extends CertificateAndKey {
  readonly certificate: X509Certificate;
}

/** The key of an entry of a Secret, and its text; null if the entry is missing. */
type Entry = readonly [key: string, text: string | null];

/** The maximum length of an entry, in characters. A certificate of this program has about 2,000. */
const MAX_LENGTH = 65_536;

/**
 * Parses a certificate and its private key. Accepts only the text that this program writes for them: two parsers could
 * read different certificates from a text that contains several.
 */
function parsePair(cert: Entry, key: Entry): ParsedPair | { readonly faults: string[] } {
  const [[certKey, certText], [keyKey, keyText]] = [cert, key];
  if (certText === null && keyText === null) return { faults: [`${certKey}, ${keyKey}: missing`] };
  const pair = { cert: certText ?? "", key: keyText ?? "" };
  const [certificate, privateKey] = [readCertificate(pair.cert), readKey(pair.key)];
  if (typeof certificate !== "string" && typeof privateKey !== "string") {
    if (isPair(certificate, privateKey)) return { ...pair, certificate };
    return { faults: [`${keyKey}: not the private key of the certificate in ${certKey}`] };
  }
  const results = [[certKey, certificate], [keyKey, privateKey]] as const;
  return { faults: results.flatMap(([name, fault]) => (typeof fault === "string" ? [`${name}: ${fault}`] : [])) };
}

/** Returns the certificate, or what is wrong with the text. */
function readCertificate(text: string): X509Certificate | string {
  const certificate = text.length > MAX_LENGTH ? null : parseCertificate(text);
  if (certificate === null) return "not a PEM certificate";
  if (certificate.toString() !== text) return "more than one PEM certificate, or other text";
  const dates = [certificate.validFromDate, certificate.validToDate];
  return dates.every((date) => Number.isFinite(date.getTime())) ? certificate : "a certificate without valid dates";
}

/** Returns the private key, or what is wrong with the text. */
function readKey(text: string): KeyObject | string {
  const key = text.length > MAX_LENGTH ? null : parsePrivateKey(text);
  if (key === null) return "not a PEM private key without a passphrase";
  const isWritten = parsed(() => key.export({ type: "pkcs8", format: "pem" })) === text;
  return isWritten ? key : "not exactly one PEM private key in the format PKCS #8";
}

/** Whether the key signs for the certificate. `checkPrivateKey` compares only the public parts of both. */
function isPair({ publicKey }: X509Certificate, privateKey: KeyObject): boolean {
  const data = Buffer.from("ack-role-resolver");
  return parsed(() => verify("sha256", data, publicKey, sign("sha256", data, privateKey))) === true;
}

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
    const found = parsePair(entry(certKey), entry(keyKey));
    if (!("faults" in found)) return found;
    faults.push(...found.faults);
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
