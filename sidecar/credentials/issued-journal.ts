import { randomUUID } from "node:crypto";
import { constants, type FileHandle, open, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { ResolverError } from "../../shared/decisions/errors.ts";
import { field, parseJSON, stringAt } from "../../shared/decisions/kubernetes/json.ts";
import { type Clock, withTimeout } from "../../shared/inventory/clock.ts";
import type { Logger } from "../../shared/server/logger.ts";
import type { CallerIdentity } from "../sts-upstream/client.ts";
import type { Signer } from "../sts/signature.ts";

/** What the holder is to this sidecar: the controller itself, who may assume roles, or a role, who may not. */
export type IssuedKind = "base" | "role";

/** Credentials that this sidecar gave out, as far as it takes to know them again. */
export interface Issued extends Signer, CallerIdentity {
  readonly accessKeyID: string;
  readonly kind: IssuedKind;
  readonly expirationMs: number;
}

export interface IssuedJournalPorts {
  readonly log: Pick<Logger, "info" | "warn" | "error">;
  readonly clock: Pick<Clock, "schedule">;
  /** Default: appends to the open file. */
  readonly append?: (file: FileHandle, text: string) => Promise<void>;
}

const FILE = "issued.jsonl";
/** Others may neither read it, for its secrets, nor write it, for what it grants. */
const MODE = 0o600;
/** Of SHA-256. */
const DIGEST_BYTES = 32;
/** What a write may take of the 900 ms that an answer has. */
const WRITE_LIMIT_MS = 300;
/** Written anew, with the live ones alone, once it has grown by so much. */
const COMPACT_OVER = { lines: 1_000, timesLive: 2 } as const;

/**
 * The memory of what was issued, for the sidecar's next life: JSON lines in `--state-dir`, each written before the answer that it
 * stands for. A process that is killed loses nothing that was written, so no fsync.
 *
 * Where a line cannot be written later on (a full volume, one that hangs), the answer goes out all the same, with one line in the log, and the whole
 * file is written anew with the next: nothing is granted by an answer that the journal lacks, whereas holding it back would turn off
 * every client now, for one that a restart could refuse until it asks again.
 */
export class IssuedJournal {
  readonly #path: string;
  readonly #ports: Required<IssuedJournalPorts>;
  #file: FileHandle | null = null;
  #lines = 0;
  #failing = false;
  /** A write takes too long; no other is begun before it ends. */
  #hangs = false;
  #last: Promise<void> = Promise.resolve();

  private constructor(path: string, ports: IssuedJournalPorts) {
    this.#path = path;
    this.#ports = { append: (file, text) => file.appendFile(text), ...ports };
  }

  /** What the journal in `folder` holds, and the journal to go on with. Rejects with ERR_CONFIG_INVALID where it is not safe to read, or not to be written. */
  static async open(folder: string, ports: IssuedJournalPorts, live: (known: readonly Issued[]) => Iterable<Issued>): Promise<IssuedJournal> {
    try {
      if (!(await stat(folder)).isDirectory()) throw fault(folder, "is no folder");
      const journal = new IssuedJournal(join(folder, FILE), ports);
      await journal.#rewrite(live(await journal.#read(folder)));
      return journal;
    } catch (cause) {
      throw cause instanceof ResolverError ? cause : fault(folder, `cannot be used (${codeOf(cause)})`, cause);
    }
  }

  /** Settles once it is written, or could not be. `live` is all that is to be remembered, this one included. */
  keep(issued: Issued, live: () => Iterable<Issued>): Promise<void> {
    this.#last = this.#last.then(() => this.#write(issued, live));
    return this.#last;
  }

  async close(): Promise<void> {
    await this.#last;
    // Closing would wait for the write that hangs.
    if (!this.#hangs) await this.#file?.close();
    this.#file = null;
  }

  async #write(issued: Issued, live: () => Iterable<Issued>): Promise<void> {
    if (this.#hangs) return;
    try {
      await this.#inTime(this.#append(issued, [...live()]));
      if (this.#failing) this.#ports.log.info({ file: this.#path }, "journal of issued credentials is written again");
      this.#failing = false;
    } catch (cause) {
      const words = "journal of issued credentials cannot be written; after a restart, clients may be refused until they ask for credentials again";
      if (!this.#failing) this.#ports.log.error({ file: this.#path, reason: codeOf(cause) }, words);
      this.#failing = true;
    }
  }

  async #inTime(work: Promise<void>): Promise<void> {
    await withTimeout(this.#ports.clock, WRITE_LIMIT_MS, work, () => {
      this.#hangs = true;
      const ended = (): void => void (this.#hangs = false);
      work.then(ended, ended);
      return new Hanging();
    });
  }

  async #append(issued: Issued, live: readonly Issued[]): Promise<void> {
    const isLong = this.#lines >= COMPACT_OVER.lines + COMPACT_OVER.timesLive * live.length;
    // After a failure half a line may stand at the end, and what was to follow it is missing.
    if (this.#file === null || this.#failing || isLong) return this.#rewrite(live);
    await this.#ports.append(this.#file, lineOf(issued));
    this.#lines += 1;
  }

  async #rewrite(live: Iterable<Issued>): Promise<void> {
    const lines = Array.from(live, lineOf);
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

  async #read(folder: string): Promise<readonly Issued[]> {
    const text = await readOwn(this.#path, folder);
    // What follows the last newline was being written when the process ended.
    const lines = text.split("\n").slice(0, -1);
    const known = lines.flatMap(issuedOf);
    if (known.length < lines.length) this.#ports.log.warn({ file: this.#path, lines: lines.length - known.length }, "lines of the journal of issued credentials left out, which are none of ours");
    return known;
  }
}

class Hanging extends Error {
  readonly code = `no answer within ${WRITE_LIMIT_MS} ms`;
}

/** "" where there is none yet. Whoever else could write the file could make itself credentials in it. */
async function readOwn(path: string, folder: string): Promise<string> {
  const file = await openItself(path, folder);
  if (file === null) return "";
  try {
    // Of what is open, so that nobody puts another in its place between the look and the reading.
    const found = await file.stat();
    const isOwn = found.isFile() && (found.mode & 0o077) === 0 && found.uid === (process.getuid?.() ?? found.uid);
    if (!isOwn) throw notOwn(folder);
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

async function openItself(path: string, folder: string): Promise<FileHandle | null> {
  try {
    return await open(path, READ_ITSELF);
  } catch (cause) {
    if (codeOf(cause) === "ENOENT") return null;
    throw codeOf(cause) === "ELOOP" ? notOwn(folder) : cause;
  }
}

/** No link's target, and without waiting for the other end of a pipe. */
const READ_ITSELF = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

function notOwn(folder: string): ResolverError {
  return fault(folder, `holds an ${FILE} that is not this user's alone`);
}

function lineOf({ tokenDigest, ...rest }: Issued): string {
  return `${JSON.stringify({ ...rest, tokenDigest: tokenDigest?.toString("base64") ?? null })}\n`;
}

function issuedOf(line: string): Issued[] {
  const object = parseJSON(line);
  const text = (name: string): string => stringAt(object, name) ?? "";
  const [kind, expirationMs, encoded] = [field(object, "kind"), field(object, "expirationMs"), stringAt(object, "tokenDigest")];
  const issued = { accessKeyID: text("accessKeyID"), secretAccessKey: text("secretAccessKey"), accountID: text("accountID"), arn: text("arn"), userID: text("userID") };
  if (issued.accessKeyID === "" || issued.secretAccessKey === "" || typeof expirationMs !== "number") return [];
  if (kind !== "base" && kind !== "role") return [];
  const digest = encoded === null ? null : Buffer.from(encoded, "base64");
  return digest === null || digest.length === DIGEST_BYTES ? [{ ...issued, kind, expirationMs, tokenDigest: digest }] : [];
}

function fault(folder: string, what: string, cause?: unknown): ResolverError {
  const message = `--state-dir ${folder}: ${what}; give a folder in memory that exists, that this user may write, and that nobody else does.`;
  return new ResolverError("ERR_CONFIG_INVALID", message, { cause });
}

function codeOf(error: unknown): string {
  return stringAt(error, "code") ?? "unknown";
}
