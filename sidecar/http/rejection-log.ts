import { hash } from "node:crypto";
import type { FastifyInstance } from "fastify";
import type { Grant } from "../../shared/decisions/grants/grant.ts";
import type { Clock } from "../../shared/inventory/clock.ts";
import type { Logger } from "../../shared/server/logger.ts";
import type { AuthFailure, SidecarMetrics } from "../metrics.ts";

declare module "fastify" {
  interface FastifyRequest {
    /**
     * The requested credentials, for the rejection log, without secrets. Undefined until the client is authenticated.
     */
    requested: Readonly<Record<string, unknown>> | undefined;
    /** The decision on the request; undefined until it is made. */
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
  /** The error of the response: a code of docs/errors.md, or on `/sts` a code of STS. */
  readonly error: { readonly code: string; readonly status: number; readonly message: string };
  /** The thrown value, if it is not a ResolverError. */
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
  readonly clock: Pick<Clock, "now">;
  readonly metrics: Pick<SidecarMetrics, "rejections" | "authFailures">;
}

/** How long repetitions of a rejection are suppressed. */
const SUPPRESS_MS = 10 * 60_000;
/** The most rejections that are distinguished. Beyond it, rejections with the same code and path share one entry. */
const LIMIT = 1_000;
/**
 * The most lines per entry and period with different reasons. A client may vary the reason of a rejection without end.
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
  readonly reason: string;
  /** The number of reasons logged in a row. */
  readonly reasonCount: number;
  suppressed: number;
}

interface Occurrence {
  readonly nowMs: number;
  readonly reason: string;
  /** Whether the entry represents all rejections with its code and path. */
  readonly isShared: boolean;
}

/**
 * Counts every rejection and suppresses repeated log lines: SDKs retry 3 to 5 times, and a controller on every
 * reconcile. A rejection with the same code, path, request and selectors is logged again when its reason changes (5
 * times at most), or after 10 minutes, with the number of suppressed lines.
 */
export class RejectionLog {
  readonly #ports: RejectionLogPorts;
  /** By digest, oldest first. */
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

  /** Returns the number of lines suppressed since the last one, or null to suppress this one. */
  #suppressedBefore({ error, path, requested, selectors }: Rejection): number | null {
    const nowMs = this.#ports.clock.now();
    this.#evict(nowMs);
    const ownKey = digestOf([error.code, path, selectors, requested]);
    const isShared = requested === null || (this.#entries.size >= LIMIT && !this.#entries.has(ownKey));
    const key = isShared ? digestOf([error.code, path]) : ownKey;
    return this.#update(key, { nowMs, reason: error.message, isShared });
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
   * Evicts expired entries, oldest first. An entry with suppressed lines stays for one more period, to log their
   * number.
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

/** Returns the type and stack of an unexpected error, without its message, which may contain a secret. */
function originOf(error: unknown): { readonly fault: string; readonly stack: readonly string[] } {
  if (!(error instanceof Error)) return { fault: typeof error, stack: [] };
  const frames = (error.stack ?? "").split("\n").filter((line) => line.startsWith("    at "));
  return { fault: error.name, stack: frames.map((line) => line.trim()) };
}
