import { generateKeyPair, randomBytes } from "node:crypto";
import { isIP } from "node:net";
import { promisify } from "node:util";
import forge from "node-forge";
import { ResolverError } from "../shared/formats/errors.ts";
import { nameConstraints } from "./name-constraints.ts";
import { parsed } from "./pem.ts";

/** A CA certificate for `caBundle`, a serving certificate and the key of the serving certificate, all as PEM. */
export interface Certificates {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

interface CertificateRequest {
  /** The DNS names and IP addresses that clients connect to. */
  readonly hosts: readonly string[];
  /** The validity of the CA and serving certificates from `now`, in days. Default: 365. */
  readonly days?: number;
  readonly now: Date;
}

/** A certificate and its private key, as PEM. */
export interface CertificateAndKey {
  readonly cert: string;
  readonly key: string;
}

interface Lifetime {
  readonly now: Date;
  readonly notAfter: Date;
}

interface AuthorityRequest extends Lifetime {
  /** The only DNS names and IP addresses for which the CA can sign certificates. */
  readonly names: readonly string[];
}

interface ServerRequest extends Lifetime {
  /** The DNS names and IP addresses that clients connect to. */
  readonly hosts: readonly string[];
}

export interface KeyPair {
  readonly publicKey: forge.pki.rsa.PublicKey;
  readonly privateKey: forge.pki.rsa.PrivateKey;
  readonly pem: string;
}

/** The size of all keys, in bits. */
export const KEY_BITS = 2048;
const DEFAULT_DAYS = 365;
const DAY_MS = 86_400_000;
/** How long before `now` the validity starts, in ms. Clients whose clock is slow then accept the certificate. */
const CLOCK_SKEW_MS = 300_000;
const SERIAL_BYTES = 16;
/** Matches a DNS name of RFC 1123 labels. The first label can be a wildcard. */
const DNS_NAME = /^(?=.{1,253}$)(\*\.)?[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$/i;
// The GeneralName choices of RFC 5280, section 4.2.1.6.
const DNS_CHOICE = 2;
const IP_CHOICE = 7;

/**
 * Creates a CA certificate and a serving certificate that the CA signs. Discards the CA key, so that the CA can never
 * sign another certificate. Rejects with ERR_CONFIG_INVALID if a host is neither a DNS name nor an IP address, or if
 * `days` is invalid.
 */
export async function makeCertificates(request: CertificateRequest): Promise<Certificates> {
  const { hosts, days = DEFAULT_DAYS, now } = request;
  checkRequest(hosts, days);
  const lifetime = { now, notAfter: new Date(now.getTime() + days * DAY_MS) };
  const [authority, server] = await Promise.all([generateKeys(), generateKeys()]);
  const ca = authorityCertificate(authority, lifetime, []);
  const cert = serverCertificate(server, { ...lifetime, hosts }, { certificate: ca, key: authority.privateKey });
  return { ca: toPEM(ca), cert: toPEM(cert), key: server.pem };
}

/**
 * Creates a CA whose name constraints allow only certificates for `names` (RFC 5280, 4.2.1.10), and no intermediate
 * CA. Clients reject a certificate for any other name, even if an attacker has the key of the CA.
 */
export async function makeAuthority({ names, ...lifetime }: AuthorityRequest): Promise<CertificateAndKey> {
  const keys = await generateKeys();
  const constraints = { id: nameConstraints.id, critical: true, value: nameConstraints.encode(names) };
  return { cert: toPEM(authorityCertificate(keys, lifetime, [constraints])), key: keys.pem };
}

/** Creates a serving certificate that `authority` signs. The certificate does not outlive `authority`. */
export async function issueCertificate(
  authority: CertificateAndKey, request: ServerRequest,
): Promise<CertificateAndKey> {
  const keys = await generateKeys();
  const certificate = forge.pki.certificateFromPem(authority.cert);
  const notAfter = new Date(Math.min(request.notAfter.getTime(), certificate.validity.notAfter.getTime()));
  const issuer = { certificate, key: forge.pki.privateKeyFromPem(authority.key) };
  return { cert: toPEM(serverCertificate(keys, { ...request, notAfter }, issuer)), key: keys.pem };
}

/**
 * Whether `issueCertificate` can sign with the pair. node-forge reads only RSA, throws for everything else, and signs
 * with a larger key for seconds, in which nothing else runs. The signature is verified, because node-forge uses parts
 * of the key that OpenSSL does not need.
 */
export function canIssue({ cert, key }: CertificateAndKey): boolean {
  return parsed(() => {
    const privateKey = forge.pki.privateKeyFromPem(key);
    if (privateKey.n.bitLength() !== KEY_BITS) return false;
    const digest = forge.md.sha256.create().update("ack-role-resolver");
    const publicKey: unknown = forge.pki.certificateFromPem(cert).publicKey;
    return isPublicKey(publicKey) && publicKey.verify(digest.digest().bytes(), privateKey.sign(digest));
  }) === true;
}

function isPublicKey(key: unknown): key is forge.pki.rsa.PublicKey {
  return typeof key === "object" && key !== null && "verify" in key;
}

/** Returns a self-signed CA certificate with the additional extensions. */
function authorityCertificate(keys: KeyPair, lifetime: Lifetime, extensions: readonly object[]): forge.pki.Certificate {
  const certificate = blankCertificate(keys, lifetime);
  const name = [{ name: "commonName", value: "ack-role-resolver CA" }];
  certificate.setSubject(name);
  certificate.setIssuer(name);
  certificate.setExtensions([
    { name: "basicConstraints", cA: true, critical: true, pathLenConstraint: 0 },
    { name: "keyUsage", keyCertSign: true, cRLSign: true, critical: true },
    { name: "subjectKeyIdentifier" },
    ...extensions,
  ]);
  certificate.sign(keys.privateKey, forge.md.sha256.create());
  return certificate;
}

interface Issuer {
  readonly certificate: forge.pki.Certificate;
  readonly key: forge.pki.rsa.PrivateKey;
}

function serverCertificate(
  keys: KeyPair, { hosts, ...lifetime }: ServerRequest, issuer: Issuer,
): forge.pki.Certificate {
  const certificate = blankCertificate(keys, lifetime);
  // The subject is constant, because a subject is limited to 64 characters. Clients ignore the subject (RFC 6125,
  // 6.4.4).
  certificate.setSubject([{ name: "commonName", value: "ack-role-resolver" }]);
  certificate.setIssuer(issuer.certificate.subject.attributes);
  certificate.setExtensions([
    { name: "basicConstraints", cA: false, critical: true },
    { name: "keyUsage", digitalSignature: true, keyEncipherment: true, critical: true },
    { name: "extKeyUsage", serverAuth: true },
    { name: "subjectAltName", altNames: hosts.map(altName) },
    {
      name: "authorityKeyIdentifier",
      keyIdentifier: issuer.certificate.generateSubjectKeyIdentifier().getBytes(),
    },
  ]);
  certificate.sign(issuer.key, forge.md.sha256.create());
  return certificate;
}

function checkRequest(hosts: readonly string[], days: number): void {
  const faults = hosts
    .filter((host) => isIP(host) === 0 && !DNS_NAME.test(host))
    .map((host) => `--host ${JSON.stringify(host)}: expected a DNS name such as webhook.example.com, or an IP address`);
  if (hosts.length === 0) faults.push("--host: expected at least one DNS name or IP address of the server");
  if (!Number.isInteger(days) || days < 1) faults.push(`--days ${days}: expected a whole number of days, 1 or more`);
  if (faults.length > 0) throw new ResolverError("ERR_CONFIG_INVALID", faults.join("\n"));
}

/**
 * Generates RSA keys with node:crypto, which does not block the event loop. node-forge would block the
 * event loop for seconds.
 */
export async function generateKeys(): Promise<KeyPair> {
  const { publicKey, privateKey } = await promisify(generateKeyPair)("rsa", {
    modulusLength: KEY_BITS,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  return {
    publicKey: forge.pki.publicKeyFromPem(publicKey),
    privateKey: forge.pki.privateKeyFromPem(privateKey),
    pem: privateKey,
  };
}

function blankCertificate(keys: KeyPair, { now, notAfter }: Lifetime): forge.pki.Certificate {
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = keys.publicKey;
  // The leading 01 makes the serial number positive and its length constant.
  certificate.serialNumber = `01${randomBytes(SERIAL_BYTES - 1).toString("hex")}`;
  certificate.validity.notBefore = new Date(now.getTime() - CLOCK_SKEW_MS);
  certificate.validity.notAfter = notAfter;
  return certificate;
}

function altName(host: string): { readonly type: number; readonly value?: string; readonly ip?: string } {
  return isIP(host) === 0 ? { type: DNS_CHOICE, value: host } : { type: IP_CHOICE, ip: host };
}

function toPEM(certificate: forge.pki.Certificate): string {
  return forge.pki.certificateToPem(certificate).replaceAll("\r\n", "\n");
}
