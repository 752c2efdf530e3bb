import { hash } from "node:crypto";
import type { FastifyInstance } from "fastify";
import type { Grant } from "../../shared/core/grant.ts";
import type { SteadyClock } from "../../shared/core/clock.ts";
import type { Logger } from "../../shared/server/logger.ts";
import type { AuthFailure, SidecarMetrics } from "../metrics.ts";
import { RepeatCounter } from "../repeat-counter.ts";

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
  readonly clock: Pick<SteadyClock, "steady">;
  readonly metrics: Pick<SidecarMetrics, "rejections" | "authFailures">;
}

const REPEATS = {
  periodMs: 10 * 60_000,
  limit: 1_000,
  // Limited, because a client can cause any number of different reasons.
  maxStates: 5,
} as const;
const AUTH_FAILURES: Readonly<Record<string, AuthFailure>> = {
  ERR_TOKEN_INVALID: "token",
  ERR_REQUEST_HOST: "host",
  SignatureDoesNotMatch: "signature",
  InvalidClientTokenId: "signature",
  IncompleteSignature: "signature",
  MissingAuthenticationToken: "signature",
};

/**
 * Counts every rejection and suppresses repeated log lines, because SDKs retry 3 to 5 times and controllers retry on
 * every reconcile. A repeated rejection, which has the code, path, request and selectors of a logged rejection, is
 * logged again after 10 minutes. If its reason changes, it is logged earlier, but at most 5 times. The next line
 * contains the number of suppressed lines.
 */
export class RejectionLog {
  readonly #ports: RejectionLogPorts;
  readonly #repeats: RepeatCounter;

  constructor(ports: RejectionLogPorts) {
    this.#ports = ports;
    this.#repeats = new RepeatCounter({ ...REPEATS, clock: ports.clock });
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
   * logged. Rejections of unauthenticated clients share their entries. The keys are digests, because a request or a
   * reason can have thousands of characters.
   */
  #suppressedBefore({ error, path, requested, selectors }: Rejection): number | null {
    const shared = { key: digestOf([error.code, path]), state: "" };
    if (requested === null) return this.#repeats.count(null, shared);
    const key = digestOf([error.code, path, selectors, requested]);
    return this.#repeats.count({ key, state: digestOf([error.message]) }, shared);
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
