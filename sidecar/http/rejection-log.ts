import { hash } from "node:crypto";
import type { Clock } from "../../shared/inventory/clock.ts";
import type { Logger } from "../../shared/server/logger.ts";
import type { AuthFailure, SidecarMetrics } from "../metrics.ts";

/** A request that was answered with an error. */
export interface Rejection {
  /** What it was answered with: one of docs/errors.md, or on `/sts` what STS has a code for. */
  readonly error: { readonly code: string; readonly status: number; readonly message: string };
  /** What was thrown, where that was no ResolverError. */
  readonly cause?: unknown;
  /** The route's pattern. */
  readonly path: string;
  /** What the request asked for: namespace, selector, role, kind, and no secret. Null of one who was not believed. */
  readonly asked: Readonly<Record<string, unknown>> | null;
  /** The names of the IAMRoleSelectors that were decided on. */
  readonly selectors: readonly string[];
}

export interface RefusalLogPorts {
  readonly log: Pick<Logger, "warn" | "error">;
  readonly clock: Pick<Clock, "now">;
  readonly metrics: Pick<SidecarMetrics, "refused" | "authFailure">;
}

/** The same refusal is told again after this long, with how often it was left out. */
const AGAIN_MS = 10 * 60_000;
/** As many are told apart; beyond them those of one code and path are one. */
const LIMIT = 1_000;
/** So often within that time for another reason: STS's words change a few times on its way down, a client may vary its own without end. */
const REASONS = 5;
const BELIEF: Readonly<Record<string, AuthFailure>> = {
  ERR_TOKEN_INVALID: "token", ERR_REQUEST_HOST: "host",
  SignatureDoesNotMatch: "signature", InvalidClientTokenId: "signature", IncompleteSignature: "signature", MissingAuthenticationToken: "signature",
};

interface Told {
  readonly untilMs: number;
  readonly reason: string;
  /** How many reasons have been told in a row. */
  readonly reasons: number;
  leftOut: number;
}

/**
 * Counts every refusal, and logs each once: an SDK asks 3 to 5 times, and a controller in every loop. The same one (code, path, what was
 * asked, on which selectors) is logged again when its reason has changed, up to 5 times, or after 10 minutes with a count of those in
 * between.
 */
export class RejectionLog {
  readonly #ports: RefusalLogPorts;
  /** By digest, in the order of telling. */
  readonly #told = new Map<string, Told>();

  constructor(ports: RefusalLogPorts) {
    this.#ports = ports;
  }

  tell(refusal: Rejection): void {
    const { code } = refusal.error;
    const { metrics } = this.#ports;
    metrics.refused(code);
    const notBelieved = BELIEF[code];
    if (notBelieved !== undefined) metrics.authFailure(notBelieved);
    const leftOut = this.#leftOut(refusal);
    if (leftOut !== null) this.#write(refusal, leftOut);
  }

  /** How often the refusal went unsaid; null where it is to go unsaid now. */
  #leftOut({ error, path, asked, selectors }: Rejection): number | null {
    const nowMs = this.#ports.clock.now();
    this.#forget(nowMs);
    const own = digestOf([error.code, path, selectors, asked]);
    const isOneOfMany = asked === null || (this.#told.size >= LIMIT && !this.#told.has(own));
    const key = isOneOfMany ? digestOf([error.code, path]) : own;
    return this.#countUnder(key, { nowMs, reason: error.message, isOneOfMany });
  }

  #countUnder(key: string, { nowMs, reason, isOneOfMany }: { readonly nowMs: number; readonly reason: string; readonly isOneOfMany: boolean }): number | null {
    const told = this.#told.get(key);
    const isRecent = told !== undefined && nowMs < told.untilMs;
    // Whoever may vary the words without end could fill the log.
    if (isRecent && (told.reason === reason || told.reasons >= REASONS)) {
      told.leftOut += 1;
      return null;
    }
    this.#told.delete(key);
    const reasons = isOneOfMany ? REASONS : 1;
    this.#told.set(key, { untilMs: nowMs + AGAIN_MS, reason, reasons: isRecent ? told.reasons + reasons : reasons, leftOut: 0 });
    return told?.leftOut ?? 0;
  }

  /** Those told longest ago go first; one with something left out stays for another turn, so that its count is told. */
  #forget(nowMs: number): void {
    for (const [key, { untilMs, leftOut }] of this.#told) {
      if (nowMs < untilMs + (leftOut > 0 ? AGAIN_MS : 0)) return;
      this.#told.delete(key);
    }
  }

  #write({ error, cause, path, asked, selectors }: Rejection, leftOut: number): void {
    const { log } = this.#ports;
    const fields = { path, ...(asked !== null && { asked, selectors }), code: error.code, status: error.status, ...(leftOut > 0 && { left_out: leftOut }) };
    if (error.code === "ERR_INTERNAL") log.error({ ...fields, ...placeOf(cause) }, "request failed");
    else log.warn({ ...fields, reason: error.message }, "credentials refused");
  }
}

function digestOf(parts: readonly unknown[]): string {
  return hash("sha256", JSON.stringify(parts), "base64url");
}

/** Where an unexpected error arose. Its message is left out, since nobody has looked at what it may quote. */
function placeOf(error: unknown): { readonly fault: string; readonly stack: readonly string[] } {
  const frames = error instanceof Error ? (error.stack ?? "").split("\n").filter((line) => line.startsWith("    at ")) : [];
  return { fault: error instanceof Error ? error.name : typeof error, stack: frames.map((line) => line.trim()) };
}
