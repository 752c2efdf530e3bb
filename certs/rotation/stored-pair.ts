import { type KeyObject, sign, verify, type X509Certificate } from "node:crypto";
import type { CertificateAndKey } from "../make.ts";
import { parseCertificate, parsed, parsePrivateKey } from "../pem.ts";

export interface ParsedPair extends CertificateAndKey {
  readonly certificate: X509Certificate;
}

/** The key of an entry of a Secret, and its text; null if the entry is missing. */
export type Entry = readonly [key: string, text: string | null];

/** The maximum length of an entry, in characters. A certificate of this program has about 2,000. */
const MAX_LENGTH = 65_536;

/**
 * Parses a certificate and its private key. Accepts only the text that this program writes for them: two parsers could
 * read different certificates from a text that contains several.
 */
export function parsePair(cert: Entry, key: Entry): ParsedPair | { readonly faults: string[] } {
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
