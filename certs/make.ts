import { generateKeyPair, randomBytes } from "node:crypto";
import { isIP } from "node:net";
import { promisify } from "node:util";
import forge from "node-forge";
import { ResolverError } from "../shared/decisions/errors.ts";

/** PEM texts: the authority's certificate for a `caBundle`, and the serving pair. */
export interface Certificates {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export interface CertificateRequest {
  /** DNS names and IP addresses that clients call the server by. */
  readonly hosts: readonly string[];
  /** Validity of both certificates, from `now`. Default 365. */
  readonly days?: number;
  readonly now: Date;
}

interface KeyPair {
  readonly publicKey: forge.pki.rsa.PublicKey;
  readonly privateKey: forge.pki.rsa.PrivateKey;
  readonly pem: string;
}

const DEFAULT_DAYS = 365;
const DAY_MS = 86_400_000;
/** Certificates are valid a little before they are made, for clients whose clock is behind. */
const CLOCK_SKEW_MS = 300_000;
const SERIAL_BYTES = 16;
/** RFC 1123 labels, with a wildcard as the first one if any. */
const DNS_NAME = /^(?=.{1,253}$)(\*\.)?[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$/i;
// RFC 5280 4.2.1.6: the GeneralName choices.
const DNS_CHOICE = 2;
const IP_CHOICE = 7;

/**
 * Makes an authority of its own and a serving certificate that it signs. The authority's key is not kept, so nothing else
 * can ever be signed by it. Throws ERR_CONFIG_INVALID naming every host that is neither a DNS name nor an IP address.
 */
export async function makeCertificates(request: CertificateRequest): Promise<Certificates> {
  const { hosts, days = DEFAULT_DAYS, now } = request;
  checkRequest(hosts, days);
  const validity = { notBefore: new Date(now.getTime() - CLOCK_SKEW_MS), notAfter: new Date(now.getTime() + days * DAY_MS) };
  const [authority, server] = await Promise.all([makeKeys(), makeKeys()]);
  const caName = [{ name: "commonName", value: "ack-role-resolver CA" }];
  const ca = blankCertificate(authority, validity);
  ca.setSubject(caName);
  ca.setIssuer(caName);
  ca.setExtensions([
    { name: "basicConstraints", cA: true, critical: true, pathLenConstraint: 0 },
    { name: "keyUsage", keyCertSign: true, cRLSign: true, critical: true },
    { name: "subjectKeyIdentifier" },
  ]);
  const cert = blankCertificate(server, validity);
  // Clients read the names alone (RFC 6125, 6.4.4); a subject has room for 64 characters only.
  cert.setSubject([{ name: "commonName", value: "ack-role-resolver" }]);
  cert.setIssuer(caName);
  cert.setExtensions([
    { name: "basicConstraints", cA: false, critical: true },
    { name: "keyUsage", digitalSignature: true, keyEncipherment: true, critical: true },
    { name: "extKeyUsage", serverAuth: true },
    { name: "subjectAltName", altNames: hosts.map(altName) },
    { name: "authorityKeyIdentifier", keyIdentifier: ca.generateSubjectKeyIdentifier().getBytes() },
  ]);
  return { ca: signed(ca, authority), cert: signed(cert, authority), key: server.pem };
}

function checkRequest(hosts: readonly string[], days: number): void {
  const faults = hosts
    .filter((host) => isIP(host) === 0 && !DNS_NAME.test(host))
    .map((host) => `--host ${JSON.stringify(host)}: expected a DNS name such as webhook.example.com, or an IP address`);
  if (hosts.length === 0) faults.push("--host: at least one name or address that clients call the server by is needed");
  if (!Number.isInteger(days) || days < 1) faults.push(`--days ${days}: expected a whole number of days, 1 or more`);
  if (faults.length > 0) throw new ResolverError("ERR_CONFIG_INVALID", faults.join("\n"));
}

/** Natively, off the event loop: node-forge's own generator takes seconds. */
async function makeKeys(): Promise<KeyPair> {
  const { publicKey, privateKey } = await promisify(generateKeyPair)("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  return { publicKey: forge.pki.publicKeyFromPem(publicKey), privateKey: forge.pki.privateKeyFromPem(privateKey), pem: privateKey };
}

function blankCertificate(keys: KeyPair, validity: { readonly notBefore: Date; readonly notAfter: Date }): forge.pki.Certificate {
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = keys.publicKey;
  // A leading 01 keeps the number positive and of a constant length.
  certificate.serialNumber = `01${randomBytes(SERIAL_BYTES - 1).toString("hex")}`;
  certificate.validity.notBefore = validity.notBefore;
  certificate.validity.notAfter = validity.notAfter;
  return certificate;
}

function altName(host: string): { readonly type: number; readonly value?: string; readonly ip?: string } {
  return isIP(host) === 0 ? { type: DNS_CHOICE, value: host } : { type: IP_CHOICE, ip: host };
}

function signed(certificate: forge.pki.Certificate, authority: KeyPair): string {
  certificate.sign(authority.privateKey, forge.md.sha256.create());
  return forge.pki.certificateToPem(certificate).replaceAll("\r\n", "\n");
}
