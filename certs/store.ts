import { randomUUID } from "node:crypto";
import { access, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ResolverError } from "../shared/decisions/errors.ts";
import type { Certificates } from "./make.ts";

/** The file names of a folder of certificates, the same as in a Secret of type kubernetes.io/tls. */
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
 * Writes `ca.crt`, `tls.crt` and `tls.key` (mode 0600) into `dir`, which is made when absent. Each file appears whole or
 * not at all. Returns the paths. Throws ERR_CONFIG_TLS_EXISTS, naming what is there, unless `force`.
 */
export async function storeCertificates(dir: string, certificates: Certificates, options: { readonly force: boolean }): Promise<string[]> {
  const file = (name: string, text: string, mode: number): PendingFile => (
    { path: join(dir, name), temporary: join(dir, `.${randomUUID()}.tmp`), text, mode }
  );
  const files = [
    file(CERTIFICATE_FILES.ca, certificates.ca, READABLE),
    file(CERTIFICATE_FILES.cert, certificates.cert, READABLE),
    file(CERTIFICATE_FILES.key, certificates.key, OWNER_ONLY),
  ];
  const paths = files.map(({ path }) => path);
  if (!options.force) await refuseExisting(paths);
  await mkdir(dir, { recursive: true });
  try {
    // All are written before the first is moved, so that the time with files of two generations is short.
    await Promise.all(files.map(({ temporary, text, mode }) => writeFile(temporary, text, { mode, flag: "wx" })));
    await Promise.all(files.map(({ temporary, path }) => rename(temporary, path)));
  } finally {
    await Promise.all(files.map(({ temporary }) => rm(temporary, { force: true })));
  }
  return paths;
}

async function refuseExisting(paths: readonly string[]): Promise<void> {
  const found = await Promise.all(paths.map(async (path) => ((await exists(path)) ? path : null)));
  const existing = found.filter((path) => path !== null);
  if (existing.length === 0) return;
  throw new ResolverError(
    "ERR_CONFIG_TLS_EXISTS",
    `${existing.join(", ")}: already there and would be overwritten; give another --dir, or --force to replace the certificates`,
  );
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(() => true, () => false);
}
