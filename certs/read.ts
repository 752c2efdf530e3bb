import type { KeyObject, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type ErrorCode, ResolverError } from "../shared/formats/errors.ts";
import { parseCertificate, parsePrivateKey } from "./pem.ts";
import { CERTIFICATE_FILES } from "./store.ts";

/**
 * A serving certificate with its chain, and the private key of the certificate. The certificate was valid when it was
 * read.
 */
export interface ServingPair {
  readonly cert: string;
  readonly key: string;
  readonly notAfter: Date;
}

const CREATE_FIX = "create a certificate and key with `ack-role-resolver certs make --dir DIR --host NAME`";

/**
 * Reads `tls.crt` and `tls.key` in `dir`. Checks that the certificate is valid at `now` and matches the key. Rejects
 * with ERR_CONFIG_TLS_MISSING, ERR_CONFIG_TLS_INVALID or ERR_CONFIG_TLS_MISMATCH. The message names the file and the
 * fix.
 */
export async function readServingPair(dir: string, now: Date): Promise<ServingPair> {
  const certFile = join(dir, CERTIFICATE_FILES.cert);
  const keyFile = join(dir, CERTIFICATE_FILES.key);
  const [cert, key] = await readBoth(certFile, keyFile);
  const certificate = parseCertificate(cert);
  const privateKey = parsePrivateKey(key);
  const faults: string[] = [];
  if (certificate === null) faults.push(`${certFile}: not a PEM certificate; ${CREATE_FIX}`);
  if (privateKey === null) faults.push(`${keyFile}: not a PEM private key without a passphrase; ${CREATE_FIX}`);
  if (certificate !== null) faults.push(...dateFaults(certificate, certFile, now));
  if (certificate === null || privateKey === null || faults.length > 0) throw fault("ERR_CONFIG_TLS_INVALID", faults);
  checkMatch(certificate, privateKey, { certFile, keyFile });
  return { cert, key, notAfter: certificate.validToDate };
}

async function readBoth(certFile: string, keyFile: string): Promise<readonly [string, string]> {
  const [cert, key] = await Promise.allSettled([readFile(certFile, "utf8"), readFile(keyFile, "utf8")]);
  if (cert.status === "fulfilled" && key.status === "fulfilled") return [cert.value, key.value];
  const faults = [[certFile, cert] as const, [keyFile, key] as const].flatMap(([file, result]) =>
    result.status === "rejected" ? [`${file}: ${unreadable(result.reason)}; ${CREATE_FIX}`] : [],
  );
  throw fault("ERR_CONFIG_TLS_MISSING", faults);
}

function unreadable(reason: unknown): string {
  const code = reason instanceof Error && "code" in reason ? reason.code : "";
  if (code === "ENOENT") return "no such file";
  return code === "EACCES" ? "permission denied" : "cannot be read";
}

function dateFaults({ validFromDate, validToDate }: X509Certificate, file: string, now: Date): string[] {
  if (now >= validToDate) return [`${file}: expired at ${validToDate.toISOString()}; ${CREATE_FIX}`];
  if (now >= validFromDate) return [];
  return [`${file}: not valid before ${validFromDate.toISOString()}; check this machine's clock`];
}

interface PairFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

function checkMatch(certificate: X509Certificate, privateKey: KeyObject, { certFile, keyFile }: PairFiles): void {
  if (certificate.checkPrivateKey(privateKey)) return;
  const problem = `${keyFile}: not the private key of the certificate in ${certFile}`;
  throw fault("ERR_CONFIG_TLS_MISMATCH", [`${problem}; store a certificate and its matching key, or ${CREATE_FIX}`]);
}

function fault(code: ErrorCode, faults: readonly string[]): ResolverError {
  return new ResolverError(code, faults.join("\n"));
}
