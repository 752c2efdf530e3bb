import { randomBytes } from "node:crypto";
import { type SteadyClock, withTimeout } from "../../shared/core/clock.ts";
import { ResolverError } from "../../shared/formats/errors.ts";
import { CredentialCache } from "../credentials/cache.ts";
import type { Credentials, SigningCredentials } from "../credentials/session.ts";
import type { STS } from "../sts-upstream/client.ts";
import { UpstreamSTSError } from "../sts-upstream/errors.ts";
import { makeKeys } from "../sts/signature.ts";

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
export interface VerifiedBase {
  readonly arn: string;
  /**
   * Whether the base credentials are session credentials. Assuming a role with session credentials is role chaining.
   */
  readonly isSession: boolean;
  /** Whether EKS Pod Identity adds tags to the session, which all role sessions inherit. */
  readonly hasPodTags: boolean;
}

interface Verification extends VerifiedBase {
  /** The time of the verification, on the steady clock. */
  readonly steadyMs: number;
  /** The expiration of the verified credentials in epoch ms; null if it is unknown. */
  readonly expirationMs: number | null;
}

interface BaseIdentityPorts {
  readonly provider: BaseProvider;
  readonly hasPodTags?: boolean;
  readonly sts: Pick<STS, "callerIdentity" | "clockLagMs">;
  readonly clock: SteadyClock;
  readonly random: () => number;
  /** `onAttempt` is called after each attempt to verify the base identity. */
  readonly onAttempt: (state: BaseState) => void;
}

const KEY = "base";
const STAND_IN_KEY = "stand-in";
/** The lifetime of stand-in keys, in ms. The cache replaces them after half of it. */
const STAND_IN_LIFE_MS = 60 * 60_000;
/**
 * The timeout of the provider, in ms. This timeout is shorter than the timeout of the whole call, so that a provider
 * timeout is not reported as an STS timeout.
 */
const PROVIDER_LIMIT_MS = 4_900;

/** Loads and caches the sidecar's own credentials, and verifies their identity with STS. */
export class BaseIdentity {
  readonly #cache: CredentialCache;
  readonly #ports: BaseIdentityPorts;
  #fault: string | null = null;
  #verified: Verification | null = null;

  constructor(ports: BaseIdentityPorts) {
    this.#ports = ports;
    this.#cache = new CredentialCache({ clock: ports.clock, random: ports.random });
  }

  /** Returns the verified credentials. Rejects with ERR_BASE_UNAVAILABLE, or with the error that STS returned. */
  get(): Promise<Credentials> {
    return this.#cache.get({ key: KEY, grantedBy: this, load: (signal) => this.#load(signal) });
  }

  /**
   * Returns keys that stand for the base identity but are valid only at this sidecar's `/sts`, where a client can
   * assume the granted roles with them. AWS rejects these keys. Rejects with the same errors as `get`.
   */
  getStandIn(): Promise<Credentials> {
    const load = async (): Promise<Credentials> => {
      const { accountID, arn, userID } = await this.get();
      const expirationMs = this.#ports.clock.now() + STAND_IN_LIFE_MS;
      return { ...makeKeys(randomBytes), accountID, arn, userID, expirationMs };
    };
    return this.#cache.get({ key: STAND_IN_KEY, grantedBy: this, load });
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

  /** Returns `verified`, or waits for the first verification. Rejects with the same errors as `get`. */
  async whenVerified(): Promise<VerifiedBase> {
    if (this.#verified !== null) return this.#verified;
    const credentials = await this.get();
    return this.#verified ?? this.#verifiedFrom(credentials);
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
    if (this.#verified === null) return null;
    const { steadyMs, expirationMs } = this.#verified;
    return { ageMs: this.#ports.clock.steady() - steadyMs, expirationMs };
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
    const { sts, clock } = this.#ports;
    try {
      const provided = await this.#provide();
      const identity = await sts.callerIdentity(provided, signal);
      // AWS sets the expiration by its own clock. Without this correction, expired credentials would appear to be valid
      // if the local clock is behind.
      const expirationMs = provided.expirationMs === null ? null : provided.expirationMs - sts.clockLagMs;
      this.#fault = null;
      this.#verified = { ...this.#verifiedFrom({ ...provided, ...identity }), steadyMs: clock.steady(), expirationMs };
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

  #verifiedFrom({ arn, sessionToken }: Pick<Credentials, "arn" | "sessionToken">): VerifiedBase {
    return { arn, isSession: sessionToken !== null, hasPodTags: this.#ports.hasPodTags ?? false };
  }

  #report(status: BaseState["status"]): void {
    this.#ports.onAttempt({ status, arn: this.#verified?.arn ?? null, fault: this.#fault });
  }

  async #provide(): Promise<SigningCredentials> {
    const { clock, provider } = this.#ports;
    try {
      return await withTimeout(clock, PROVIDER_LIMIT_MS, provider(), providerTimeout);
    } catch (cause) {
      if (cause instanceof ResolverError) throw cause;
      throw noCredentials(cause instanceof Error ? cause.name : "unknown");
    }
  }
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
