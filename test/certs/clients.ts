import forge from "node-forge";
import { generateKeys, type KeyPair } from "../../certs/make.ts";

/** A client certificate and its key, as PEM. */
interface ClientPair {
  readonly cert: string;
  readonly key: string;
}

const LIFETIME_MS = 86_400_000;

/** Returns a CA, and one client certificate for each common name, in the same order. */
export async function makeClients(
  ...names: readonly string[]
): Promise<{ readonly ca: string; readonly pairs: readonly ClientPair[] }> {
  const authority = await generateKeys();
  const issuer = [{ name: "commonName", value: "clients CA" }];
  const ca = certificateFor(authority, issuer, issuer);
  ca.setExtensions([{ name: "basicConstraints", cA: true }, { name: "keyUsage", keyCertSign: true }]);
  ca.sign(authority.privateKey, forge.md.sha256.create());
  const pairs = await Promise.all(names.map(async (name): Promise<ClientPair> => {
    const keys = await generateKeys();
    const cert = certificateFor(keys, [{ name: "commonName", value: name }], issuer);
    cert.setExtensions([{ name: "keyUsage", digitalSignature: true }, { name: "extKeyUsage", clientAuth: true }]);
    cert.sign(authority.privateKey, forge.md.sha256.create());
    return { cert: forge.pki.certificateToPem(cert), key: keys.pem };
  }));
  return { ca: forge.pki.certificateToPem(ca), pairs };
}

function certificateFor(
  keys: KeyPair, subject: forge.pki.CertificateField[], issuer: forge.pki.CertificateField[],
): forge.pki.Certificate {
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = keys.publicKey;
  certificate.serialNumber = `01${forge.util.bytesToHex(forge.random.getBytesSync(8))}`;
  certificate.validity.notBefore = new Date(Date.now() - LIFETIME_MS);
  certificate.validity.notAfter = new Date(Date.now() + LIFETIME_MS);
  certificate.setSubject(subject);
  certificate.setIssuer(issuer);
  return certificate;
}
