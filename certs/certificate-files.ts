import type { KeyObject, X509Certificate } from "node:crypto";
import { type FSWatcher, watch } from "node:fs";
import { access, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { type ErrorCode, ResolverError } from "../shared/formats/errors.ts";
import type { Certificates } from "./make.ts";
import { parseCertificate, parsePrivateKey } from "./pem.ts";

interface CertificateWatchOptions<Content> {
  /** The folder that contains the files. */
  readonly dir: string;
  /** Reads the files. Rejects if the files are invalid. */
  readonly read: () => Promise<Content>;
  /** The content that the server already uses. */
  readonly current: Content;
  /** Receives each new valid content. If `onChange` throws, the error is reported as a fault. */
  readonly onChange: (content: Content) => void;
  /** Receives each new fault once. The server continues to use the current content. */
  readonly onFault: (fault: Error) => void;
}

const POLL_MS = 10_000;
/** The delay between a file event and the read, in ms, so that the certificate and the key are both written. */
const SETTLE_MS = 200;

/**
 * Watches certificate files in a folder. Uses file events, and also polls the files, because file events can be
 * missing: some file systems send no events, and a kubelet replaces a projected Secret by changing the symbolic link
 * `..data`.
 */
export class CertificateWatch<Content> {
  readonly #options: CertificateWatchOptions<Content>;
  #current: Content;
  #lastFault: string | null = null;
  #checking: Promise<void> = Promise.resolve();
  #watcher: FSWatcher | null = null;
  #poll: NodeJS.Timeout | null = null;
  #settling: NodeJS.Timeout | null = null;

  constructor(options: CertificateWatchOptions<Content>) {
    this.#options = options;
    this.#current = options.current;
  }

  start(): void {
    this.#poll = setInterval(() => void this.check(), POLL_MS).unref();
    try {
      this.#watcher = watch(this.#options.dir, { persistent: false }, () => this.#settle());
      this.#watcher.on("error", () => this.#watcher?.close());
    } catch {
      // Ignores the error: no inotify watch is available, or the file system has no events. Polling still detects
      // changes.
    }
  }

  /** Reads the folder immediately. Reads run in sequence, so that an older result cannot replace a newer result. */
  check(): Promise<void> {
    this.#checking = this.#checking.then(() => this.#reload());
    return this.#checking;
  }

  close(): void {
    this.#watcher?.close();
    for (const timer of [this.#poll, this.#settling]) if (timer !== null) clearTimeout(timer);
  }

  #settle(): void {
    if (this.#settling !== null) clearTimeout(this.#settling);
    this.#settling = setTimeout(() => void this.check(), SETTLE_MS).unref();
  }

  async #reload(): Promise<void> {
    const { read, onChange, onFault } = this.#options;
    try {
      const content = await read();
      if (!isDeepStrictEqual(content, this.#current)) {
        onChange(content);
        this.#current = content;
      }
      this.#lastFault = null;
    } catch (error) {
      const cause = error instanceof Error ? error : new Error(String(error));
      if (cause.message !== this.#lastFault) onFault(cause);
      this.#lastFault = cause.message;
    }
  }
}

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
