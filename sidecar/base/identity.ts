import { type Clock, type SteadyClock, withTimeout } from "../../shared/clock.ts";
import { ResolverError } from "../../shared/formats/errors.ts";
import { CredentialCache } from "../credentials/cache.ts";
import type { CallerIdentity, Credentials, SigningCredentials } from "../credentials/session.ts";
import type { STS } from "../sts-upstream/client.ts";
import { UpstreamSTSError } from "../sts-upstream/errors.ts";
import { makeKeys } from "../sts/signature.ts";

interface IdentityOnlyPorts {
  readonly base: Pick<BaseIdentity, "get">;
  readonly clock: Pick<Clock, "now">;
  readonly randomBytes: (size: number) => Buffer;
}

const LIFE_MS = 60 * 60_000;
/**
 * The age at which keys are replaced, in ms. New keys exist before any SDK refreshes its keys, because SDKs refresh at
 * most 15 minutes before the expiration.
 */
const RENEW_AT_MS = LIFE_MS / 2;
const MIN_LIFE_MS = 60_000;

/**
 * Issues keys that stand for the base identity but are valid only at this sidecar's `/sts`. With such a key, a client
 * can assume the granted roles at `/sts`. AWS rejects these keys.
 */
export class IdentityOnlyKeys {
  readonly #ports: IdentityOnlyPorts;
  #keys: { readonly credentials: Credentials; readonly expirationMs: number } | null = null;

  constructor(ports: IdentityOnlyPorts) {
    this.#ports = ports;
  }

  /**
   * Returns keys that are valid for at least 60 s. If no such keys exist and the base identity is unavailable, rejects
   * with the error of the base identity.
   */
  async get(): Promise<Credentials> {
    const cached = this.#withLife(LIFE_MS - RENEW_AT_MS);
    if (cached !== null) return cached;
    try {
      const { accountID, arn, userID } = await this.#ports.base.get();
      // A concurrent request may have generated new keys during the wait.
      return this.#withLife(LIFE_MS - RENEW_AT_MS) ?? this.#make({ accountID, arn, userID });
    } catch (error) {
      const last = this.#withLife(MIN_LIFE_MS);
      if (last !== null) return last;
      throw error;
    }
  }

  /** Returns the current keys if they are valid for more than `lifeMs`; otherwise null. */
  #withLife(lifeMs: number): Credentials | null {
    const keys = this.#keys;
    return keys !== null && keys.expirationMs - this.#ports.clock.now() > lifeMs ? keys.credentials : null;
  }

  #make(identity: CallerIdentity): Credentials {
    const expirationMs = this.#ports.clock.now() + LIFE_MS;
    const credentials = { ...makeKeys(this.#ports.randomBytes), ...identity, expirationMs };
    this.#keys = { credentials, expirationMs };
    return credentials;
  }
}

/**
 * Returns the sidecar's own credentials. The sidecar calls the provider again after half of the credentials' lifetime.
 */
export type BaseProvider = () => Promise<SigningCredentials>;

/** The state after an attempt to verify the base identity. */
export interface BaseState {
  /** `stale`: the renewal failed, and the last credentials are still valid. */
  readonly status: "verified" | "stale" | "unavailable";
  /** The ARN of the identity that STS last verified; null before the first verification. */
  readonly arn: string | null;
  /** The reason why the verification failed; null if the verification succeeded. */
  readonly fault: string | null;
}

/** The properties of the base identity that affect role sessions. */
interface VerifiedBase {
  readonly arn: string;
  /**
   * Whether the base credentials are session credentials. Assuming a role with session credentials is role chaining.
   */
  readonly isSession: boolean;
}

interface BaseIdentityPorts {
  readonly provider: BaseProvider;
  readonly sts: Pick<STS, "callerIdentity" | "clockLagMs">;
  readonly clock: SteadyClock;
  readonly random: () => number;
  /** `onAttempt` is called after each attempt to verify the base identity. */
  readonly onAttempt?: (state: BaseState) => void;
}

const KEY = "base";
/**
 * The timeout of the provider, in ms. This timeout is shorter than the timeout of the whole call, so that a provider
 * timeout is not reported as an STS timeout.
 */
const PROVIDER_LIMIT_MS = 4_900;

/** Loads and caches the sidecar's own credentials, and verifies their identity with STS. */
export class BaseIdentity {
  readonly #cache: CredentialCache;
  readonly #provider: BaseProvider;
  readonly #sts: BaseIdentityPorts["sts"];
  #fault: string | null = null;
  #verified: VerifiedBase | null = null;
  #lastVerification: { readonly steadyMs: number; readonly expirationMs: number | null } | null = null;
  readonly #clock: SteadyClock;
  readonly #onAttempt: (state: BaseState) => void;

  constructor({ provider, sts, clock, random, onAttempt = () => {} }: BaseIdentityPorts) {
    this.#clock = clock;
    this.#onAttempt = onAttempt;
    this.#provider = provider;
    this.#sts = sts;
    this.#cache = new CredentialCache({ clock, random, limit: 1 });
  }

  /** Returns the verified credentials. Rejects with ERR_BASE_UNAVAILABLE, or with the error that STS returned. */
  get(): Promise<Credentials> {
    return this.#cache.get({ key: KEY, grantedBy: this, load: (signal) => this.#load(signal) });
  }

  /**
   * Whether verified credentials are available now. Reading this property counts as a use of the credentials, so that
   * the cache refreshes the credentials.
   */
  get usable(): boolean {
    // The error is ignored here, because the next request for credentials reports the error.
    this.get().catch(() => {});
    return this.#cache.peek(KEY) !== null;
  }

  /**
   * The last verified identity, even if its credentials are no longer available; null before the first verification.
   */
  get verified(): VerifiedBase | null {
    return this.#verified;
  }

  /** Returns the last verified identity, or waits for the first verification. Rejects with the same errors as `get`. */
  async whenVerified(): Promise<VerifiedBase> {
    return this.#verified ?? verifiedFrom(await this.get());
  }

  /** The reason why the last verification failed; null if the last verification succeeded. */
  get fault(): string | null {
    return this.#fault;
  }

  /**
   * The age of the last verification, and the expiration of the verified credentials (epoch ms; null if unknown). The
   * result is null before the first verification.
   */
  get lastVerification(): { readonly ageMs: number; readonly expirationMs: number | null } | null {
    const last = this.#lastVerification;
    return last === null ? null : { ageMs: this.#clock.steady() - last.steadyMs, expirationMs: last.expirationMs };
  }

  /** Evicts credentials that STS rejected. Does nothing if newer credentials have replaced the rejected credentials. */
  invalidate({ accessKeyID, sessionToken }: Pick<Credentials, "accessKeyID" | "sessionToken">): void {
    const current = this.#cache.peek(KEY);
    if (current?.accessKeyID === accessKeyID && current.sessionToken === sessionToken) this.#cache.evict(KEY);
  }

  close(): void {
    this.#cache.close();
  }

  async #load(signal: AbortSignal): Promise<Credentials> {
    try {
      const provided = await this.#provide();
      const identity = await this.#sts.callerIdentity(provided, signal);
      // AWS sets the expiration by its own clock. Without this correction, expired credentials would appear to be valid
      // if the local clock is behind.
      const expirationMs = provided.expirationMs === null ? null : provided.expirationMs - this.#sts.clockLagMs;
      this.#fault = null;
      this.#verified = verifiedFrom({ ...provided, ...identity });
      this.#lastVerification = { steadyMs: this.#clock.steady(), expirationMs };
      this.#report("verified");
      return { ...provided, expirationMs, ...identity };
    } catch (cause) {
      const error = toBaseError(cause);
      const isKnown = error instanceof ResolverError;
      this.#fault = isKnown ? error.message : "Loading the base identity failed. The next request logs the details.";
      this.#report(this.#cache.peek(KEY) === null ? "unavailable" : "stale");
      throw error;
    }
  }

  #report(status: BaseState["status"]): void {
    this.#onAttempt({ status, arn: this.#verified?.arn ?? null, fault: this.#fault });
  }

  async #provide(): Promise<SigningCredentials> {
    try {
      return await withTimeout(this.#clock, PROVIDER_LIMIT_MS, this.#provider(), providerTimeout);
    } catch (cause) {
      if (cause instanceof ResolverError) throw cause;
      throw noCredentials(cause instanceof Error ? cause.name : "unknown");
    }
  }
}

function verifiedFrom({ arn, sessionToken }: Pick<Credentials, "arn" | "sessionToken">): VerifiedBase {
  return { arn, isSession: sessionToken !== null };
}

/** Converts an STS error about the base identity, so that it is not reported as an error about the requested role. */
function toBaseError(cause: unknown): unknown {
  if (!(cause instanceof UpstreamSTSError)) return cause;
  return new ResolverError("ERR_BASE_UNAVAILABLE", `STS rejected the sidecar's base identity. ${cause.message}`);
}

function providerTimeout(): ResolverError {
  return noCredentials(`no response within ${PROVIDER_LIMIT_MS / 1000} s`);
}

function noCredentials(reason: string): ResolverError {
  const fix = "Configure web identity, Pod Identity, a profile or an instance role for the sidecar.";
  const message = `The sidecar has no credentials for its base identity (${reason}). ${fix}`;
  return new ResolverError("ERR_BASE_UNAVAILABLE", message);
}
