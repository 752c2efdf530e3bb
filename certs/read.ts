import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type ErrorCode, ResolverError } from "../shared/decisions/errors.ts";
import { CERTIFICATE_FILES } from "./store.ts";

/** A certificate (with its chain) and its key, known to fit each other and to be valid when they were read. */
export interface ServingPair {
  readonly cert: string;
  readonly key: string;
  readonly notAfter: Date;
}

const MAKE_ONE = "`ack-role-resolver certs make --dir DIR --host NAME` makes a pair";

/**
 * Reads `tls.crt` and `tls.key` in `dir` and checks that they can serve at `now`. Throws a ResolverError that names the
 * file and the fix: ERR_CONFIG_TLS_MISSING, ERR_CONFIG_TLS_INVALID, ERR_CONFIG_TLS_MISMATCH.
 */
export async function readServingPair(dir: string, now: Date): Promise<ServingPair> {
  const certFile = join(dir, CERTIFICATE_FILES.cert);
  const keyFile = join(dir, CERTIFICATE_FILES.key);
  const [cert, key] = await readBoth(certFile, keyFile);
  const faults: string[] = [];
  const certificate = parsed(() => new X509Certificate(cert), faults, `${certFile}: not a PEM certificate; ${MAKE_ONE}`);
  const privateKey = parsed(() => createPrivateKey(key), faults, `${keyFile}: not a PEM private key without a passphrase; ${MAKE_ONE}`);
  if (certificate !== null) faults.push(...dateFaults(certificate, certFile, now));
  if (certificate === null || privateKey === null || faults.length > 0) throw fault("ERR_CONFIG_TLS_INVALID", faults);
  checkMatch(certificate, privateKey, { certFile, keyFile });
  return { cert, key, notAfter: certificate.validToDate };
}

async function readBoth(certFile: string, keyFile: string): Promise<readonly [string, string]> {
  const [cert, key] = await Promise.allSettled([readFile(certFile, "utf8"), readFile(keyFile, "utf8")]);
  if (cert.status === "fulfilled" && key.status === "fulfilled") return [cert.value, key.value];
  const faults = [[certFile, cert] as const, [keyFile, key] as const].flatMap(([file, result]) =>
    result.status === "rejected" ? [`${file}: ${unreadable(result.reason)}; ${MAKE_ONE}`] : [],
  );
  throw fault("ERR_CONFIG_TLS_MISSING", faults);
}

function unreadable(reason: unknown): string {
  const code = reason instanceof Error && "code" in reason ? reason.code : "";
  if (code === "ENOENT") return "there is no such file";
  return code === "EACCES" ? "this user may not read it" : "cannot be read";
}

function parsed<T extends X509Certificate | KeyObject>(parse: () => T, faults: string[], message: string): T | null {
  try {
    return parse();
  } catch {
    // OpenSSL's own message names neither the file nor what was expected, and could quote the key.
    faults.push(message);
    return null;
  }
}

function dateFaults({ validFromDate, validToDate }: X509Certificate, file: string, now: Date): string[] {
  if (now >= validToDate) return [`${file}: expired at ${validToDate.toISOString()}; ${MAKE_ONE}`];
  if (now >= validFromDate) return [];
  return [`${file}: not valid before ${validFromDate.toISOString()}; check this machine's clock`];
}

function checkMatch(certificate: X509Certificate, privateKey: KeyObject, files: { certFile: string; keyFile: string }): void {
  if (certificate.checkPrivateKey(privateKey)) return;
  throw fault("ERR_CONFIG_TLS_MISMATCH", [
    `${files.keyFile}: not the private key of the certificate in ${files.certFile}; put both files of one pair there, or ${MAKE_ONE}`,
  ]);
}

function fault(code: ErrorCode, faults: readonly string[]): ResolverError {
  return new ResolverError(code, faults.join("\n"));
}
