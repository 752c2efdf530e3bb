import { randomUUID } from "node:crypto";
import { constants, type FileHandle, open, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { ResolverError } from "../../shared/formats/errors.ts";
import { field, parseJSON, stringAt } from "../../shared/formats/json.ts";
import { type Clock, withTimeout } from "../../shared/core/clock.ts";
import type { Logger } from "../../shared/server/logger.ts";
import type { Signer } from "../sts/signature.ts";
import type { CallerIdentity } from "./session.ts";

/**
 * A `base` key is the identity of a controller, which may assume roles. A `role` key belongs to a role session, and a
 * `tool` key to a session of a tool, which reads several accounts; both may not assume roles.
 */
export type IssuedKind = (typeof ISSUED_KINDS)[number];

/** In the order in which the keys are evicted. */
export const ISSUED_KINDS = ["tool", "role", "base"] as const;

/** The properties of an issued key that `/sts` needs to verify a request that is signed with this key. */
export interface IssuedKey extends Signer, CallerIdentity {
  readonly accessKeyID: string;
  readonly kind: IssuedKind;
  readonly expirationMs: number;
}

export interface IssuedJournalPorts {
  readonly log: Pick<Logger, "info" | "warn" | "error">;
  readonly clock: Pick<Clock, "schedule">;
  /** Appends `text` to `file`. Default: `file.appendFile`. */
  readonly append?: (file: FileHandle, text: string) => Promise<void>;
}

const FILE = "issued.jsonl";
/**
 * Only the sidecar's user may read or write the file, because the file contains secrets, and a key that is added to the
 * file could assume the granted roles.
 */
const MODE = 0o600;
/** SHA-256. */
const DIGEST_BYTES = 32;
/** The maximum duration of a write, in ms. The whole response must take at most 900 ms. */
const WRITE_LIMIT_MS = 300;
/**
 * If the file has more lines than these limits allow, the journal rewrites the file with only the keys that are still
 * stored.
 */
const COMPACT_OVER = { lines: 1_000, timesStored: 2 } as const;

/**
 * Stores the issued keys across restarts, as JSON lines in `--state-dir`. The journal writes each key before the
 * sidecar sends the response that contains the key. A completed write survives if the process is killed, so no fsync is
 * needed.
 *
 * If a write fails or hangs (such as on a full volume), the sidecar still sends the response and logs one error. The
 * next write rewrites the whole file. After a restart, the sidecar rejects a key that is missing from the journal, and
 * the client must request a new key. Sending no response would be worse, because the client would fail immediately.
 */
export class IssuedJournal {
  readonly #path: string;
  readonly #ports: Required<IssuedJournalPorts>;
  #file: FileHandle | null = null;
  #lines = 0;
  #isFailing = false;
  /**
   * Whether a write has exceeded its time limit and has not ended yet. No other write starts until the late write ends.
   */
  #isHanging = false;
  #last: Promise<void> = Promise.resolve();

  private constructor(path: string, ports: IssuedJournalPorts) {
    this.#path = path;
    this.#ports = { append: (file, text) => file.appendFile(text), ...ports };
  }

  /**
   * Opens the journal in `folder`, passes its keys to `restore`, and rewrites the journal with the keys that `restore`
   * returns. Rejects with ERR_CONFIG_INVALID if the file is not safe to read or cannot be written.
   */
  static async open(
    folder: string, ports: IssuedJournalPorts, restore: (known: readonly IssuedKey[]) => Iterable<IssuedKey>,
  ): Promise<IssuedJournal> {
    try {
      if (!(await stat(folder)).isDirectory()) throw configError(folder, "is not a folder");
      const journal = new IssuedJournal(join(folder, FILE), ports);
      await journal.#rewrite(restore(await journal.#read(folder)));
      return journal;
    } catch (cause) {
      throw cause instanceof ResolverError ? cause : configError(folder, `cannot be used (${codeOf(cause)})`, cause);
    }
  }

  /**
   * Resolves after the write of the key succeeded, failed or timed out. `stored` returns all keys that the journal must
   * contain, including `issued`.
   */
  record(issued: IssuedKey, stored: () => Iterable<IssuedKey>): Promise<void> {
    this.#last = this.#last.then(() => this.#write(issued, stored));
    return this.#last;
  }

  async close(): Promise<void> {
    await this.#last;
    // The file is not closed during a write that hangs, because closing would wait for the write.
    if (!this.#isHanging) await this.#file?.close();
    this.#file = null;
  }

  async #write(issued: IssuedKey, stored: () => Iterable<IssuedKey>): Promise<void> {
    if (this.#isHanging) return;
    try {
      await this.#withLimit(this.#append(issued, [...stored()]));
      if (!this.#isFailing) return;
      this.#isFailing = false;
      this.#ports.log.info({ file: this.#path }, "journal of issued credentials is writable again");
    } catch (cause) {
      const message = "journal of issued credentials cannot be written; " +
        "after a restart, the sidecar rejects issued credentials, and clients must request new credentials";
      if (!this.#isFailing) this.#ports.log.error({ file: this.#path, reason: codeOf(cause) }, message);
      this.#isFailing = true;
    }
  }

  async #withLimit(work: Promise<void>): Promise<void> {
    await withTimeout(this.#ports.clock, WRITE_LIMIT_MS, work, () => {
      this.#isHanging = true;
      const ended = (): void => void (this.#isHanging = false);
      work.then(ended, ended);
      return new WriteTimeout();
    });
  }

  async #append(issued: IssuedKey, stored: readonly IssuedKey[]): Promise<void> {
    const isLong = this.#lines >= COMPACT_OVER.lines + COMPACT_OVER.timesStored * stored.length;
    // After a failed write, rewrites the file, because it can end with a partial line and lack later keys.
    if (this.#file === null || this.#isFailing || isLong) return this.#rewrite(stored);
    await this.#ports.append(this.#file, lineOf(issued));
    this.#lines += 1;
  }

  async #rewrite(stored: Iterable<IssuedKey>): Promise<void> {
    const lines = Array.from(stored, lineOf);
    const temporary = `${this.#path}.${randomUUID()}`;
    const file = await open(temporary, "wx", MODE);
    try {
      await this.#ports.append(file, lines.join(""));
      await rename(temporary, this.#path);
    } catch (cause) {
      await file.close();
      await rm(temporary, { force: true });
      throw cause;
    }
    await this.#file?.close();
    this.#file = file;
    this.#lines = lines.length;
  }

  async #read(folder: string): Promise<readonly IssuedKey[]> {
    const text = await readPrivateFile(this.#path, folder);
    // Ignores the text after the last newline. This text is a partial line, because the process ended during a write.
    const lines = text.split("\n").slice(0, -1);
    const known = lines.flatMap(parseLine);
    const ignored = lines.length - known.length;
    if (ignored > 0) {
      const message = "invalid lines in the journal of issued credentials are ignored";
      this.#ports.log.warn({ file: this.#path, lines: ignored }, message);
    }
    return known;
  }
}

class WriteTimeout extends Error {
  readonly code = `not written within ${WRITE_LIMIT_MS} ms`;
}

/**
 * Returns the content of the journal file, or "" if the file does not exist. Rejects if another user can access the
 * file, because this user could read the secrets or add keys.
 */
async function readPrivateFile(path: string, folder: string): Promise<string> {
  const file = await openRegular(path, folder);
  if (file === null) return "";
  try {
    // Checks the file after opening it, so that the file cannot be replaced between the check and the read.
    const status = await file.stat();
    const isOwn = status.uid === (process.getuid?.() ?? status.uid);
    if (!isOwn || !status.isFile() || (status.mode & 0o077) !== 0) throw notPrivate(folder);
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

async function openRegular(path: string, folder: string): Promise<FileHandle | null> {
  try {
    return await open(path, READ_FLAGS);
  } catch (cause) {
    if (codeOf(cause) === "ENOENT") return null;
    throw codeOf(cause) === "ELOOP" ? notPrivate(folder) : cause;
  }
}

/** With these flags, `open` does not follow a symbolic link and does not wait for the writer of a named pipe. */
const READ_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

function notPrivate(folder: string): ResolverError {
  return configError(folder, `contains an ${FILE} that other users can access or that is not a regular file`);
}

function lineOf({ tokenDigest, ...rest }: IssuedKey): string {
  return `${JSON.stringify({ ...rest, tokenDigest: tokenDigest?.toString("base64") ?? null })}\n`;
}

/** Returns the key in `line`, or [] if the line is invalid. */
function parseLine(line: string): IssuedKey[] {
  const object = parseJSON(line);
  const text = (name: string): string => stringAt(object, name) ?? "";
  const expirationMs = field(object, "expirationMs");
  const kind = ISSUED_KINDS.find((known) => known === text("kind"));
  const issued = {
    accessKeyID: text("accessKeyID"), secretAccessKey: text("secretAccessKey"),
    accountID: text("accountID"), arn: text("arn"), userID: text("userID"),
  };
  if (issued.accessKeyID === "" || issued.secretAccessKey === "" || typeof expirationMs !== "number") return [];
  if (kind === undefined) return [];
  const encoded = stringAt(object, "tokenDigest");
  const tokenDigest = encoded === null ? null : Buffer.from(encoded, "base64");
  if (tokenDigest !== null && tokenDigest.length !== DIGEST_BYTES) return [];
  return [{ ...issued, kind, expirationMs, tokenDigest }];
}

function configError(folder: string, problem: string, cause?: unknown): ResolverError {
  const fix = "Set an existing in-memory folder that only the user of the sidecar can write.";
  return new ResolverError("ERR_CONFIG_INVALID", `--state-dir ${folder}: ${problem}. ${fix}`, { cause });
}

function codeOf(error: unknown): string {
  return stringAt(error, "code") ?? "unknown";
}
