import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { chmod, type FileHandle, open, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ResolverError } from "../shared/formats/errors.ts";
import { stringAt } from "../shared/formats/json.ts";
import { countOf } from "../shared/formats/text.ts";
import { LIMITS } from "../shared/core/limits.ts";
import { MIN_TOKEN_LENGTH } from "../shared/core/settings.ts";
import type { SteadyClock } from "../shared/core/clock.ts";
import type { Logger } from "../shared/server/logger.ts";
import { TokenCheck } from "./http/request-check.ts";
import type { SidecarMetrics } from "./metrics.ts";

export interface TokenFilePorts {
  readonly clock: SteadyClock;
  readonly randomBytes: (size: number) => Buffer;
  readonly log: Logger;
  readonly metrics: Pick<SidecarMetrics, "tokenReloads">;
}

const RELOAD_MS = 1_000;
const TOKEN_BYTES = 32;
// Matches the visible characters of an HTTP field value: https://www.rfc-editor.org/rfc/rfc9110#section-5.5
const TOKEN = /^[!-~]+$/;

/**
 * The token file that the sidecar shares with its clients. The sidecar creates the file if it is missing or empty, and
 * reloads it every second. If the file becomes unusable, the last token stays valid.
 */
export class TokenFile {
  readonly check: TokenCheck;
  readonly #path: string;
  readonly #ports: TokenFilePorts;
  #cancel: () => void = () => {};
  #isUnusable = false;
  #isClosed = false;

  private constructor(path: string, token: string, ports: TokenFilePorts) {
    this.#path = path;
    this.#ports = ports;
    this.check = new TokenCheck(token, ports.clock);
  }

  /** Rejects with ERR_CONFIG_INVALID if the file cannot be read or created, or does not contain a valid token. */
  static async open(path: string, ports: TokenFilePorts): Promise<TokenFile> {
    const token = (await readToken(path)) ?? (await createToken(path, ports.randomBytes));
    const file = new TokenFile(path, token, ports);
    file.#schedule();
    return file;
  }

  /** Reads the token file once. If the file contains a new token, makes this token the current token. */
  async reload(): Promise<void> {
    const { log, metrics } = this.#ports;
    try {
      const token = await readToken(this.#path);
      if (token === null) throw new Error("the file is missing or empty");
      if (this.check.rotate(token)) {
        log.info({ file: this.#path }, "token reloaded from the token file; the previous token stays valid for 60 s");
        metrics.tokenReloads.inc({ result: "ok" });
      }
      this.#isUnusable = false;
    } catch (error) {
      if (this.#isUnusable) return;
      this.#isUnusable = true;
      log.warn({ file: this.#path, reason: reasonOf(error) }, "token file is not usable; the last token stays valid");
      metrics.tokenReloads.inc({ result: "failed" });
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel();
  }

  #schedule(): void {
    if (this.#isClosed) return;
    this.#cancel = this.#ports.clock.schedule(RELOAD_MS, () => {
      void this.reload().then(() => this.#schedule());
    });
  }
}

/**
 * Returns the token of the file, or null if the file is missing or empty. Rejects with ERR_CONFIG_INVALID if the file
 * cannot be read, if group or others can write it, or if its token is not valid. SDKs put the whole file into a header,
 * and refuse to send it if it ends with a newline.
 */
export async function readToken(path: string): Promise<string | null> {
  const content = await readContent(path);
  const token = content?.text ?? "";
  if (content === null || /^[\r\n]*$/.test(token)) return null;
  if ((content.mode & WRITABLE_BY_OTHERS) !== 0) {
    const mode = (content.mode & 0o777).toString(8).padStart(4, "0");
    const problem = `group or others can write the file (mode ${mode}), so other users could set the token`;
    throw invalidFile(path, `${problem}. Replace the token, and run chmod go-w on the file.`);
  }
  const fault = faultOfToken(token);
  if (fault !== null) throw invalidFile(path, fault);
  return token;
}

const EMPTY = "Empty the file, so that the sidecar creates a new token.";

/** Returns why no client can send the token, or why it is too short, with the fix; null if it is valid. */
function faultOfToken(token: string): string | null {
  if (token.length > MAX_LENGTH) return `the file is longer than ${MAX_LENGTH} characters. ${EMPTY}`;
  if (/[\r\n]$/.test(token) && TOKEN.test(token.trimEnd())) {
    return "the file ends with a newline, with which no SDK sends the token. Write the token without it, as "
      + "printf %s TOKEN does.";
  }
  if (!TOKEN.test(token)) return `the token is not one line of printable ASCII without spaces. ${EMPTY}`;
  if (token.length >= MIN_TOKEN_LENGTH) return null;
  return `the token has ${countOf(token.length, "character")} (minimum: ${MIN_TOKEN_LENGTH}). ${EMPTY}`;
}

/** The permission bits S_IWGRP and S_IWOTH. */
const WRITABLE_BY_OTHERS = 0o022;
const MAX_LENGTH = LIMITS.tokenCharacters.value;

interface TokenFileContent {
  readonly text: string;
  readonly mode: number;
}

/** Reads at most one byte more than the limit. Returns null if the file is missing. */
async function readContent(path: string): Promise<TokenFileContent | null> {
  let file: FileHandle | null = null;
  try {
    // Opens the file once, so that the mode and the text belong to the same file.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const { mode } = await file.stat();
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_LENGTH + 1), 0, MAX_LENGTH + 1, 0);
    return { text: buffer.toString("latin1", 0, bytesRead), mode };
  } catch (cause) {
    if (stringAt(cause, "code") === "ENOENT") return null;
    const fix = "Allow the user of the sidecar to read the file.";
    throw invalidFile(path, `the file cannot be read (${reasonOf(cause)}). ${fix}`, { cause });
  } finally {
    await file?.close();
  }
}

/** Creates the token file by renaming a temporary file, so that clients never read a partial token. */
async function createToken(path: string, randomBytes: (size: number) => Buffer): Promise<string> {
  const token = randomBytes(TOKEN_BYTES).toString("base64url");
  const temporary = join(dirname(path), `.token-${randomUUID()}`);
  try {
    // The token file is world-readable, because the controller's container runs as a different user. A world-readable
    // token file is safe because only the containers of the sidecar and the controller mount the volume.
    await writeFile(temporary, token, { mode: 0o444, flag: "wx" });
    // Sets the mode again, because the umask may have removed bits of the mode.
    await chmod(temporary, 0o444);
    await rename(temporary, path);
  } catch (cause) {
    await rm(temporary, { force: true });
    const reason = reasonOf(cause);
    const fix = "Use an existing directory that the user of the sidecar can write.";
    throw invalidFile(path, `the file cannot be created (${reason}). ${fix}`, { cause });
  }
  return token;
}

function invalidFile(path: string, message: string, options?: ErrorOptions): ResolverError {
  return new ResolverError("ERR_CONFIG_INVALID", `--token-file ${path}: ${message}`, options);
}

/**
 * Returns a system error code or the message of a ResolverError. The returned text never contains the content of the
 * file.
 */
function reasonOf(error: unknown): string {
  if (error instanceof ResolverError) return error.message;
  return stringAt(error, "code") ?? (error instanceof Error ? error.message : "unknown");
}
