import { randomUUID } from "node:crypto";
import { access, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ResolverError } from "../shared/decisions/errors.ts";
import type { Certificates } from "./make.ts";

/** The file names in a certificate folder. A Secret of type kubernetes.io/tls has the same names. */
export const CERTIFICATE_FILES = { ca: "ca.crt", cert: "tls.crt", key: "tls.key" } as const;

interface PendingFile {
  readonly path: string;
  readonly temporary: string;
  readonly text: string;
  readonly mode: number;
}

const OWNER_ONLY = 0o600;
const READABLE = 0o644;

/**
 * Writes `ca.crt`, `tls.crt` and `tls.key` (mode 0600) into `dir`. Creates `dir` if the folder is missing. Writes each
 * file atomically. Returns the paths of the files. Rejects with ERR_CONFIG_TLS_EXISTS if a file exists and `force` is
 * false.
 */
export async function storeCertificates(
  dir: string, certificates: Certificates, options: { readonly force: boolean },
): Promise<string[]> {
  const file = (name: string, text: string, mode: number): PendingFile => (
    { path: join(dir, name), temporary: join(dir, `.${randomUUID()}.tmp`), text, mode }
  );
  const files = [
    file(CERTIFICATE_FILES.ca, certificates.ca, READABLE),
    file(CERTIFICATE_FILES.cert, certificates.cert, READABLE),
    file(CERTIFICATE_FILES.key, certificates.key, OWNER_ONLY),
  ];
  const paths = files.map(({ path }) => path);
  if (!options.force) await rejectExisting(paths);
  await mkdir(dir, { recursive: true });
  try {
    // Writes all temporary files before the first rename. This order shortens the time in which the certificate and the
    // key do not match.
    await Promise.all(files.map(({ temporary, text, mode }) => writeFile(temporary, text, { mode, flag: "wx" })));
    await Promise.all(files.map(({ temporary, path }) => rename(temporary, path)));
  } finally {
    await Promise.all(files.map(({ temporary }) => rm(temporary, { force: true })));
  }
  return paths;
}

async function rejectExisting(paths: readonly string[]): Promise<void> {
  const found = await Promise.all(paths.map(async (path) => ((await exists(path)) ? path : null)));
  const existing = found.filter((path) => path !== null);
  if (existing.length === 0) return;
  throw new ResolverError(
    "ERR_CONFIG_TLS_EXISTS",
    `${existing.join(", ")}: already exists; set --dir to another folder, or replace the certificates with --force`,
  );
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(() => true, () => false);
}
