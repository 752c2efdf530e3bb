import { type KeyObject, sign, verify, type X509Certificate } from "node:crypto";
import { field, isJsonObject, type JsonObject, stringAt } from "../../shared/formats/json.ts";
import { quote } from "../../shared/formats/text.ts";
import { canIssue, type CertificateAndKey } from "../make.ts";
import { permitsOnly } from "../name-constraints.ts";
import { isSignedBy, missingHosts, parseCertificate, parsed, parsePrivateKey, splitCertificates } from "../pem.ts";

/** A certificate and its private key, with the validity of the certificate in ms since the Unix epoch. */
interface Dated extends CertificateAndKey {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

interface ParsedPair extends Dated {
  readonly certificate: X509Certificate;
}

/** The key of an entry of a Secret, and its text; null if the entry is missing. */
type Entry = readonly [key: string, text: string | null];

/** The maximum length of an entry, in characters. A certificate of this program has about 2,000. */
const MAX_LENGTH = 65_536;

/** Returns the result, unless it is the text of a fault. Then adds the fault of the entry, and returns null. */
function accepted<T extends object>(key: string, result: T | string, faults: string[]): T | null {
  if (typeof result !== "string") return result;
  faults.push(`${key}: ${result}`);
  return null;
}

/**
 * Parses a certificate and its private key. Accepts only the text that this program writes for them: two parsers could
 * read different certificates from a text that contains several. Adds what is wrong, and returns null then.
 */
function parsePair([certKey, cert]: Entry, [keyKey, key]: Entry, faults: string[]): ParsedPair | null {
  if (cert === null && key === null) return accepted<ParsedPair>(`${certKey}, ${keyKey}`, "missing", faults);
  const certificate = accepted(certKey, readCertificate(cert ?? ""), faults);
  const privateKey = accepted(keyKey, readKey(key ?? ""), faults);
  if (certificate === null || privateKey === null) return null;
  const dates = { notBeforeMs: certificate.validFromDate.getTime(), notAfterMs: certificate.validToDate.getTime() };
  const pair = { cert: cert ?? "", key: key ?? "", ...dates, certificate };
  const result = isPair(certificate, privateKey) ? pair : `not the private key of the certificate in ${certKey}`;
  return accepted(keyKey, result, faults);
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
  const pair = (certKey: string, keyKey: string): ParsedPair | null => (
    parsePair(entry(certKey), entry(keyKey), faults)
  );
  const K = SECRET_KEYS;
  const ca = authority(pair(K.ca, K.caKey), [K.ca, context, faults]);
  const hasNext = [K.nextCA, K.nextCAKey].some((key) => entry(key)[1] !== null);
  const next = hasNext ? authority(pair(K.nextCA, K.nextCAKey), [K.nextCA, context, faults]) : null;
  const leaf = pair(K.cert, K.key);
  if (leaf !== null && ca !== null && !isSignedBy(leaf.certificate, ca.cert)) {
    faults.push(`${K.cert}: not signed by the CA in ${K.ca}`);
  }
  const previous = previousOf(entry(K.previousCA), context, faults);
  const rotate = stringAt(secret, "metadata", "annotations", ROTATE_ANNOTATION);
  return { leaf: leafOf(leaf, context), ca, next, previous, rotate, faults };
}

/** The entry, what is known about the installation, and the list to which a fault is added. */
type Validation = readonly [certKey: string, context: ParseContext, faults: string[]];

const NOT_ISSUED = "a CA that this installation did not issue";

function authority(pair: ParsedPair | null, [certKey, context, faults]: Validation): StoredAuthority | null {
  if (pair === null) return null;
  const { cert, key, notBeforeMs, notAfterMs } = pair;
  const permitsHosts = permitsOnly(cert, context.hosts);
  const result = authorityFault(pair, context) ?? { cert, key, notBeforeMs, notAfterMs, permitsHosts };
  return accepted(certKey, result, faults);
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

function leafOf(pair: ParsedPair | null, { hosts }: ParseContext): StoredLeaf | null {
  if (pair === null) return null;
  const { certificate, ...stored } = pair;
  return { ...stored, missingHosts: missingHosts(certificate, hosts) };
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
  const encoded = Object.entries(texts).map(([key, text]) => [key, text === null ? null : base64(text)] as const);
  const entries = [...Object.entries(asObject(field(secret, "data"))), ...encoded];
  const data = Object.fromEntries([...new Map(entries)].filter(([, value]) => value !== null));
  const metadata = asObject(field(secret, "metadata"));
  const annotations = asObject(field(metadata, "annotations"));
  const { [ROTATE_ANNOTATION]: rotate, ...others } = annotations;
  const isFulfilled = FULFILLED_BY.get(rotate)?.includes(step) === true;
  const kept = isFulfilled ? others : annotations;
  return { ...secret, metadata: { ...metadata, annotations: kept }, data };
}

export function base64(text = ""): string {
  return Buffer.from(text).toString("base64");
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
