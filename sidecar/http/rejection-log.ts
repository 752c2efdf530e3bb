import { hash } from "node:crypto";
import type { FastifyInstance } from "fastify";
import type { Grant } from "../../shared/resolution/grant.ts";
import type { SteadyClock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/server/logger.ts";
import type { AuthFailure, SidecarMetrics } from "../metrics.ts";

declare module "fastify" {
  interface FastifyRequest {
    /**
     * Describes the requested credentials for the rejection log, without secrets. Undefined until the client is
     * authenticated.
     */
    requested: (() => Readonly<Record<string, unknown>>) | undefined;
    /** The decision on the request; undefined until the route has made the decision. */
    grant: Grant | undefined;
  }
}

/** Declares the properties that the routes set and the rejection log reads. */
export function decorateRequests(app: FastifyInstance): void {
  app.decorateRequest("requested", undefined);
  app.decorateRequest("grant", undefined);
}

/** A request that got an error response. */
export interface Rejection {
  /** The error of the response. The code of the error is listed in docs/errors.md or, on `/sts`, is a code of STS. */
  readonly error: { readonly code: string; readonly status: number; readonly message: string };
  /** The thrown value; absent for a request that Node.js cannot parse. */
  readonly cause?: unknown;
  /** The route pattern. */
  readonly path: string;
  /** The requested namespace, selector, role or kind, without secrets; null for an unauthenticated client. */
  readonly requested: Readonly<Record<string, unknown>> | null;
  /** The names of the IAMRoleSelectors that the decision is based on. */
  readonly selectors: readonly string[];
}

interface RejectionLogPorts {
  readonly log: Pick<Logger, "warn" | "error">;
  /** With the wall clock, new rejections would not be logged for some time after the wall clock was set back. */
  readonly clock: Pick<SteadyClock, "steady">;
  readonly metrics: Pick<SidecarMetrics, "rejections" | "authFailures">;
}

/** How long repeated log lines of a rejection are suppressed, in ms. */
const SUPPRESS_MS = 10 * 60_000;
/** The maximum number of entries. At the limit, new rejections that have the same code and path share one entry. */
const LIMIT = 1_000;
/**
 * The maximum number of lines that an entry logs for different reasons within SUPPRESS_MS. The number is limited,
 * because a client can cause any number of different reasons.
 */
const MAX_REASONS = 5;
const AUTH_FAILURES: Readonly<Record<string, AuthFailure>> = {
  ERR_TOKEN_INVALID: "token",
  ERR_REQUEST_HOST: "host",
  SignatureDoesNotMatch: "signature",
  InvalidClientTokenId: "signature",
  IncompleteSignature: "signature",
  MissingAuthenticationToken: "signature",
};

interface Entry {
  readonly untilMs: number;
  /** The digest of the reason, because a reason can have thousands of characters. */
  readonly reason: string;
  /** The number of different reasons that were logged in the current period. */
  readonly reasonCount: number;
  suppressed: number;
}

interface Occurrence {
  readonly nowMs: number;
  readonly reason: string;
  /** Whether all rejections that have this code and path share the entry. */
  readonly isShared: boolean;
}

/**
 * Counts every rejection and suppresses repeated log lines, because SDKs retry 3 to 5 times and controllers retry on
 * every reconcile. A repeated rejection, which has the code, path, request and selectors of a logged rejection, is
 * logged again after 10 minutes. If its reason changes, it is logged earlier, but at most 5 times. The next line
 * contains the number of suppressed lines.
 */
export class RejectionLog {
  readonly #ports: RejectionLogPorts;
  /** Maps the digest of each rejection to its entry, oldest first. */
  readonly #entries = new Map<string, Entry>();

  constructor(ports: RejectionLogPorts) {
    this.#ports = ports;
  }

  record(rejection: Rejection): void {
    const { code } = rejection.error;
    const { metrics } = this.#ports;
    metrics.rejections.inc({ code });
    const kind = AUTH_FAILURES[code];
    if (kind !== undefined) metrics.authFailures.inc({ kind });
    const suppressed = this.#suppressedBefore(rejection);
    if (suppressed !== null) this.#write(rejection, suppressed);
  }

  /**
   * Returns the number of lines that were suppressed since the last logged line, or null if `rejection` must not be
   * logged.
   */
  #suppressedBefore({ error, path, requested, selectors }: Rejection): number | null {
    const nowMs = this.#ports.clock.steady();
    this.#evict(nowMs);
    const ownKey = digestOf([error.code, path, selectors, requested]);
    const isShared = requested === null || (this.#entries.size >= LIMIT && !this.#entries.has(ownKey));
    const key = isShared ? digestOf([error.code, path]) : ownKey;
    return this.#update(key, { nowMs, reason: digestOf([error.message]), isShared });
  }

  #update(key: string, { nowMs, reason, isShared }: Occurrence): number | null {
    const entry = this.#entries.get(key);
    const isRecent = entry !== undefined && nowMs < entry.untilMs;
    if (isRecent && (entry.reason === reason || entry.reasonCount >= MAX_REASONS)) {
      entry.suppressed += 1;
      return null;
    }
    this.#entries.delete(key);
    const added = isShared ? MAX_REASONS : 1;
    const reasonCount = isRecent ? entry.reasonCount + added : added;
    this.#entries.set(key, { untilMs: nowMs + SUPPRESS_MS, reason, reasonCount, suppressed: 0 });
    return entry?.suppressed ?? 0;
  }

  /**
   * Evicts expired entries, oldest first. An entry that has suppressed lines is stored for one more period, so that the
   * next line can contain their number.
   */
  #evict(nowMs: number): void {
    for (const [key, { untilMs, suppressed }] of this.#entries) {
      if (nowMs < untilMs + (suppressed > 0 ? SUPPRESS_MS : 0)) return;
      this.#entries.delete(key);
    }
  }

  #write({ error, cause, path, requested, selectors }: Rejection, suppressed: number): void {
    const { log } = this.#ports;
    const fields = {
      path,
      ...(requested !== null && { requested, selectors }),
      code: error.code,
      status: error.status,
      ...(suppressed > 0 && { suppressed }),
    };
    if (error.code === "ERR_INTERNAL") log.error({ ...fields, ...originOf(cause) }, "request failed");
    else log.warn({ ...fields, reason: error.message }, "request rejected");
  }
}

function digestOf(parts: readonly unknown[]): string {
  return hash("sha256", JSON.stringify(parts), "base64url");
}

/** Returns the type and stack of an unexpected error. Omits the message of the error, which can contain a secret. */
function originOf(error: unknown): { readonly fault: string; readonly stack: readonly string[] } {
  if (!(error instanceof Error)) return { fault: typeof error, stack: [] };
  const frames = (error.stack ?? "").split("\n").filter((line) => line.startsWith("    at "));
  return { fault: error.name, stack: frames.map((line) => line.trim()) };
}
