import { hash, randomUUID, timingSafeEqual } from "node:crypto";
import { chmod, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ResolverError } from "../shared/decisions/errors.ts";
import { stringAt } from "../shared/decisions/kubernetes/json.ts";
import type { SteadyClock } from "../shared/inventory/clock.ts";
import type { Logger } from "../shared/server/logger.ts";
import type { SidecarMetrics } from "./metrics.ts";

/** How long the token before the last rotation stays good: clients read the file at their own pace. */
const PREVIOUS_TOKEN_MS = 60_000;

/** Compares what a client presents with the token, in the same time whatever it presents. */
export class TokenCheck {
  readonly #clock: SteadyClock;
  #current: Buffer;
  #previous: { readonly digest: Buffer; readonly untilSteadyMs: number } | null = null;

  constructor(token: string, clock: SteadyClock) {
    this.#current = digestOf(token);
    this.#clock = clock;
  }

  accepts(presented: string): boolean {
    // Digests have one length, and the time to compare them tells nothing of the tokens.
    const digest = digestOf(presented);
    const isCurrent = timingSafeEqual(digest, this.#current);
    const previous = this.#previous;
    const isPrevious = timingSafeEqual(digest, previous?.digest ?? NONE) && previous !== null && this.#clock.steady() < previous.untilSteadyMs;
    return isCurrent || isPrevious;
  }

  /** Takes another token over; false when it is the current one. */
  rotate(token: string): boolean {
    const digest = digestOf(token);
    if (digest.equals(this.#current)) return false;
    this.#previous = { digest: this.#current, untilSteadyMs: this.#clock.steady() + PREVIOUS_TOKEN_MS };
    this.#current = digest;
    return true;
  }
}

const NONE = Buffer.alloc(32);

function digestOf(text: string): Buffer {
  return hash("sha256", text, "buffer");
}

export interface TokenFilePorts {
  readonly clock: SteadyClock;
  readonly randomBytes: (size: number) => Buffer;
  readonly log: Logger;
  readonly metrics: Pick<SidecarMetrics, "tokenReloaded" | "tokenReloadFailed">;
}

const REREAD_MS = 1_000;
const TOKEN_BYTES = 32;
// What an HTTP header can carry as one word: https://www.rfc-editor.org/rfc/rfc9110#section-5.5
const TOKEN = /^[!-~]+$/;

/**
 * The token that clients present, kept as the file has it: made when the file is absent or empty, read again each second.
 * A file that turns unreadable changes nothing but the log.
 */
export class TokenFile {
  readonly check: TokenCheck;
  readonly #path: string;
  readonly #ports: TokenFilePorts;
  #cancel: () => void = () => {};
  #unreadable = false;
  #closed = false;

  private constructor(path: string, token: string, ports: TokenFilePorts) {
    this.#path = path;
    this.#ports = ports;
    this.check = new TokenCheck(token, ports.clock);
  }

  /** Rejects with ERR_CONFIG_INVALID when the file can neither be read nor made, or holds no usable token. */
  static async open(path: string, ports: TokenFilePorts): Promise<TokenFile> {
    const token = (await readToken(path)) ?? (await makeToken(path, ports.randomBytes));
    const file = new TokenFile(path, token, ports);
    file.#schedule();
    return file;
  }

  /** Reads the file once more and takes over another token. */
  async reread(): Promise<void> {
    try {
      const token = await readToken(this.#path);
      if (token === null) throw new Error("the file is absent or empty");
      if (this.check.rotate(token)) {
        this.#ports.log.info({ file: this.#path }, "token taken over from its file; the one before is good for a minute");
        this.#ports.metrics.tokenReloaded();
      }
      this.#unreadable = false;
    } catch (error) {
      if (this.#unreadable) return;
      this.#unreadable = true;
      this.#ports.log.warn({ file: this.#path, reason: reasonOf(error) }, "token file not usable; the last token stays good");
      this.#ports.metrics.tokenReloadFailed();
    }
  }

  close(): void {
    this.#closed = true;
    this.#cancel();
  }

  #schedule(): void {
    if (this.#closed) return;
    this.#cancel = this.#ports.clock.schedule(REREAD_MS, () => {
      void this.reread().then(() => this.#schedule());
    });
  }
}

/** The token without a trailing newline, or null when there is none yet. Rejects with ERR_CONFIG_INVALID when it cannot be read or used. */
export async function readToken(path: string): Promise<string | null> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    if (stringAt(cause, "code") === "ENOENT") return null;
    throw new ResolverError("ERR_CONFIG_INVALID", `--token-file ${path}: cannot be read (${reasonOf(cause)}); give a file that this user may read.`, { cause });
  }
  const token = text.replace(/\r?\n$/, "");
  if (token === "") return null;
  if (TOKEN.test(token)) return token;
  throw new ResolverError("ERR_CONFIG_INVALID", `--token-file ${path}: a token is one line of printable ASCII without spaces; empty the file to have one made.`);
}

/** Written beside the file and renamed, so that no client ever reads half of it. */
async function makeToken(path: string, randomBytes: (size: number) => Buffer): Promise<string> {
  const token = randomBytes(TOKEN_BYTES).toString("base64url");
  const temporary = join(dirname(path), `.token-${randomUUID()}`);
  try {
    // Readable to all: the other container reads it as another user, from a volume that only these two mount.
    await writeFile(temporary, token, { mode: 0o444, flag: "wx" });
    // Whatever this process's umask has taken from it.
    await chmod(temporary, 0o444);
    await rename(temporary, path);
  } catch (cause) {
    await rm(temporary, { force: true });
    throw new ResolverError("ERR_CONFIG_INVALID", `--token-file ${path}: cannot be made (${reasonOf(cause)}); give a path in a folder that exists and that this user may write.`, { cause });
  }
  return token;
}

/** A system error's code, or the words of ours: never the file's content, which no such message holds. */
function reasonOf(error: unknown): string {
  if (error instanceof ResolverError) return error.message;
  return stringAt(error, "code") ?? (error instanceof Error ? error.message : "unknown");
}
