import { access, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ResolverError } from "../shared/formats/errors.ts";
import type { Certificates } from "./make.ts";

/** The file names in a certificate folder. A Secret of type kubernetes.io/tls has the same names. */
export const CERTIFICATE_FILES = { ca: "ca.crt", cert: "tls.crt", key: "tls.key" } as const;

const OWNER_ONLY = 0o600;
const READABLE = 0o644;

/**
 * Writes `ca.crt`, `tls.crt` and `tls.key` (mode 0600) into `dir`. Creates `dir` if the folder is missing. Returns the
 * paths of the files. Rejects with ERR_CONFIG_TLS_EXISTS if a file exists.
 */
export async function storeCertificates(dir: string, { ca, cert, key }: Certificates): Promise<string[]> {
  const files = [
    { path: join(dir, CERTIFICATE_FILES.ca), text: ca, mode: READABLE },
    { path: join(dir, CERTIFICATE_FILES.cert), text: cert, mode: READABLE },
    { path: join(dir, CERTIFICATE_FILES.key), text: key, mode: OWNER_ONLY },
  ];
  const paths = files.map(({ path }) => path);
  await rejectExisting(paths);
  await mkdir(dir, { recursive: true });
  await Promise.all(files.map(({ path, text, mode }) => writeFile(path, text, { mode, flag: "wx" })));
  return paths;
}

async function rejectExisting(paths: readonly string[]): Promise<void> {
  const found = await Promise.all(paths.map(async (path) => ((await exists(path)) ? path : null)));
  const existing = found.filter((path) => path !== null);
  if (existing.length === 0) return;
  throw new ResolverError(
    "ERR_CONFIG_TLS_EXISTS",
    `${existing.join(", ")}: already exists; set --dir to another folder, or delete the files first`,
  );
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(() => true, () => false);
}
