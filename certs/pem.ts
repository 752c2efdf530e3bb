import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { isIP } from "node:net";

/**
 * Returns the first certificate in the text, or null if the text is not a PEM certificate. Omits the error of OpenSSL,
 * which does not state the expected content, and could contain a key.
 */
export function parseCertificate(pem: string): X509Certificate | null {
  return parsed(() => new X509Certificate(pem));
}

/** Returns the key in the text, or null if the text is not a PEM private key without a passphrase. */
export function parsePrivateKey(pem: string): KeyObject | null {
  return parsed(() => createPrivateKey(pem));
}

/** Returns the result of `read`, or null if it throws, as libraries do for some invalid certificates and keys. */
export function parsed<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

/** Whether the CA signed the certificate. False for a CA that is not a certificate. */
export function isSignedBy(certificate: X509Certificate, authorityPEM: string): boolean {
  return parsed(() => {
    const issuer = new X509Certificate(authorityPEM);
    return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
  }) === true;
}

const BLOCK = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** Returns each PEM certificate in the text, excluding other text. Ends each certificate with a newline. */
export function splitCertificates(pem: string): string[] {
  return [...pem.matchAll(BLOCK)].map(([block]) => `${block.replaceAll("\r\n", "\n")}\n`);
}

/** Returns the DNS names and IP addresses in `hosts` for which the certificate is not valid. */
export function missingHosts(certificate: X509Certificate, hosts: readonly string[]): string[] {
  return hosts.filter((host) => (
    (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) === undefined
  ));
}
