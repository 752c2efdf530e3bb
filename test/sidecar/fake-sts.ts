import { randomFrom } from "../../bench/random.ts";
import { ResolverError } from "../../shared/formats/errors.ts";
import { CredentialCache, type CredentialCacheOptions } from "../../sidecar/credentials/cache.ts";
import type { Credentials, Load, Lookup } from "../../sidecar/credentials/session.ts";
import { ThrottledSTSError, UpstreamSTSError } from "../../sidecar/sts-upstream/errors.ts";
import { STSCallGuard } from "../../sidecar/sts-upstream/rate-limiter.ts";
import { FakeClock } from "./fake-clock.ts";

export const HOUR = 3_600_000;
export const MINUTE = 60_000;
export const SECOND = 1_000;

export type Behavior = "grants" | "is empty" | "is short" | "denies" | "finds it invalid" | "throttles" | "hangs";

export const DENIED = new UpstreamSTSError("STS returned AccessDenied for AssumeRole", {
  stsCode: "AccessDenied",
  stsStatus: 403,
});
export const INVALID = new UpstreamSTSError("STS returned ValidationError for AssumeRole", {
  stsCode: "ValidationError",
  stsStatus: 400,
});
export const UNREACHABLE = new ResolverError("ERR_STS_UNAVAILABLE", "The STS call failed (AssumeRole: ECONNRESET).");
export const THROTTLED = new ThrottledSTSError("STS returned Throttling for AssumeRole: Rate exceeded");

/** The value of `grantedBy` for all sessions, because their grants never change. */
const GRANTED_BY = {};

/**
 * Simulates STS on a fake clock. Records calls and responds after `latencyMs`. The time of this STS stays correct if a
 * test sets the local clock.
 */
export class FakeSTS {
  readonly calls: { readonly key: string; readonly atMs: number }[] = [];
  behavior: Behavior = "grants";
  latencyMs = 0;
  lifeMs = HOUR;
  inFlight = 0;
  mostInFlight = 0;
  readonly #clock: FakeClock;
  readonly #startMs: number;
  /** Maps each access key ID to its expiration on the steady clock. */
  readonly #ends = new Map<string, number>();

  constructor(clock: FakeClock) {
    this.#clock = clock;
    this.#startMs = clock.now() - clock.steady();
  }

  lookup(key: string, grantedBy: object = GRANTED_BY): Lookup {
    return { key, grantedBy, load: this.load(key) };
  }

  load(key = "a"): Load {
    return async (signal) => {
      this.calls.push({ key, atMs: this.#clock.steady() });
      this.inFlight += 1;
      this.mostInFlight = Math.max(this.mostInFlight, this.inFlight);
      try {
        return await this.#answer(signal);
      } finally {
        this.inFlight -= 1;
      }
    };
  }

  /** Returns the true remaining lifetime of the credentials. */
  leftMs({ accessKeyID }: Credentials): number {
    return (this.#ends.get(accessKeyID) ?? 0) - this.#clock.steady();
  }

  callsBetween(fromMs: number, toMs: number): number {
    return this.calls.filter(({ atMs }) => atMs >= fromMs && atMs < toMs).length;
  }

  async #answer(signal: AbortSignal): Promise<Credentials> {
    const behavior = this.behavior;
    const requestedMs = this.#clock.now();
    if (behavior === "hangs")
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(UNREACHABLE)));
    if (this.latencyMs > 0) await new Promise<void>((resolve) => this.#clock.schedule(this.latencyMs, resolve));
    if (behavior === "denies") throw DENIED;
    if (behavior === "finds it invalid") throw INVALID;
    if (behavior === "throttles") throw THROTTLED;
    const session = this.#session(behavior === "is short" ? 59_999 : this.lifeMs, requestedMs);
    return behavior === "is empty" ? { ...session, secretAccessKey: "" } : session;
  }

  #session(lifeMs: number, requestedMs: number): Credentials {
    const accessKeyID = `ASIA${this.#ends.size + 1}`;
    this.#ends.set(accessKeyID, this.#clock.steady() + lifeMs);
    // Like the STS client, uses the expiration of STS, but no later time than the local request time plus the lifetime.
    const expirationMs = Math.min(this.#startMs + this.#clock.steady() + lifeMs, requestedMs + lifeMs);
    return {
      accessKeyID, secretAccessKey: "secret", sessionToken: "token", accountID: "111122223333", expirationMs,
      arn: "arn:aws:sts::111122223333:assumed-role/a/session", userID: "AROAA:session",
    };
  }
}

interface CacheSetup extends Partial<Omit<CredentialCacheOptions, "guard" | "clock">> {
  /** The seed of the random numbers. By default, all of them are 0.5, so that no delay has jitter. */
  readonly seed?: number;
  /** Whether the calls pass the rate limiter and the circuit breaker. */
  readonly isGuarded?: boolean;
}

/** A cache of sessions, and its STS on a fake clock. */
export class CacheUnderTest {
  readonly clock = new FakeClock();
  readonly sts = new FakeSTS(this.clock);
  readonly guard = new STSCallGuard({ clock: this.clock });
  readonly cache: CredentialCache;

  constructor({ seed, isGuarded = false, ...options }: CacheSetup = {}) {
    const random = seed === undefined ? (): number => 0.5 : randomFrom(seed);
    const guard = isGuarded ? { guard: this.guard } : {};
    this.cache = new CredentialCache({ clock: this.clock, random, ...guard, ...options });
  }

  get(key = "a", grantedBy?: object): Promise<Credentials> {
    return this.cache.get(this.sts.lookup(key, grantedBy));
  }

  /** Requests a session, and returns `ok` or the code of the error. */
  request(key: string, grantedBy?: object): Promise<string> {
    return this.get(key, grantedBy).then(() => "ok", (error: unknown) => (
      error instanceof Error && "code" in error ? String(error.code) : String(error)
    ));
  }
}
