import { ResolverError } from "../../shared/decisions/errors.ts";
import { type SteadyClock, withTimeout } from "../../shared/inventory/clock.ts";
import { CredentialCache } from "../credentials/cache.ts";
import type { Credentials } from "../credentials/session.ts";
import type { STS } from "../sts-upstream/client.ts";
import type { SigningCredentials } from "../sts-upstream/connection.ts";
import { UpstreamSTSError } from "../sts-upstream/errors.ts";

/** Where the sidecar's own credentials come from; asked anew at half of their life. */
export type BaseProvider = () => Promise<SigningCredentials>;

/** How it stands after an attempt to have it: had, not renewed but still good, or not there. */
export interface BaseState {
  readonly is: "proven" | "ageing" | "lost";
  /** Whom STS named last; null when it never has. */
  readonly arn: string | null;
  /** Why the attempt failed; null when it did not. */
  readonly fault: string | null;
}

/** What sessions of roles depend on. */
export interface KnownBase {
  readonly arn: string;
  /** A role that is assumed from a session is one of a chain. */
  readonly isSession: boolean;
}

export interface BaseIdentityPorts {
  readonly provider: BaseProvider;
  readonly sts: Pick<STS, "callerIdentity" | "behindMs">;
  readonly clock: SteadyClock;
  readonly random: () => number;
  /** After each attempt. */
  readonly onAttempt?: (state: BaseState) => void;
}

const KEY = "base";
/** Less than a call may take as a whole: what is late is the provider, and not STS. */
const PROVIDER_LIMIT_MS = 4_900;

/** Who the sidecar itself is: the credentials of its provider, once STS has said whose they are. */
export class BaseIdentity {
  readonly #cache: CredentialCache;
  readonly #provider: BaseProvider;
  readonly #sts: BaseIdentityPorts["sts"];
  #fault: string | null = null;
  #known: KnownBase | null = null;
  #proved: { readonly steadyMs: number; readonly expirationMs: number | null } | null = null;
  readonly #clock: SteadyClock;
  readonly #onAttempt: (state: BaseState) => void;

  constructor({ provider, sts, clock, random, onAttempt = () => {} }: BaseIdentityPorts) {
    this.#clock = clock;
    this.#onAttempt = onAttempt;
    this.#provider = provider;
    this.#sts = sts;
    this.#cache = new CredentialCache({ clock, random, limit: 1 });
  }

  /** Rejects with ERR_BASE_UNAVAILABLE, or with what STS trouble there was. */
  get(): Promise<Credentials> {
    return this.#cache.get({ key: KEY, grantedBy: this, load: (signal) => this.#load(signal) });
  }

  /** Whether it can be used right now. Asking keeps it fresh, as a use does. */
  get usable(): boolean {
    // Why it cannot be had is told to the next request; here only whether it can.
    this.get().catch(() => {});
    return this.#cache.peek(KEY) !== null;
  }

  /** Whom STS named last, whether or not the credentials can be had now; null when it never has. */
  get known(): KnownBase | null {
    return this.#known;
  }

  /** The same, waited for where STS never has yet. Rejects as `get` does. */
  async whenKnown(): Promise<KnownBase> {
    return this.#known ?? knownFrom(await this.get());
  }

  /** Why the last attempt to get it failed; null when it did not. */
  get fault(): string | null {
    return this.#fault;
  }

  /** How long ago STS last said whose it is, and when what it spoke of ends (epoch ms; null when that is not known). Null before it has. */
  get proved(): { readonly ageMs: number; readonly expirationMs: number | null } | null {
    const proved = this.#proved;
    return proved === null ? null : { ageMs: this.#clock.steady() - proved.steadyMs, expirationMs: proved.expirationMs };
  }

  /** After STS has refused these credentials. Where others are here by now, or on their way, those are not forgotten. */
  forget({ accessKeyID, sessionToken }: Pick<Credentials, "accessKeyID" | "sessionToken">): void {
    const kept = this.#cache.peek(KEY);
    if (kept?.accessKeyID === accessKeyID && kept.sessionToken === sessionToken) this.#cache.forget(KEY);
  }

  close(): void {
    this.#cache.close();
  }

  async #load(signal: AbortSignal): Promise<Credentials> {
    try {
      const given = await this.#provide();
      const identity = await this.#sts.callerIdentity(given, signal);
      // Their end is by AWS's clock, which STS has just told: where ours is behind they would seem to live on after it.
      const credentials = { ...given, expirationMs: given.expirationMs === null ? null : given.expirationMs - this.#sts.behindMs };
      this.#fault = null;
      this.#known = knownFrom({ ...given, ...identity });
      this.#proved = { steadyMs: this.#clock.steady(), expirationMs: credentials.expirationMs };
      this.#tell("proven");
      return { ...credentials, ...identity };
    } catch (cause) {
      // Said of the base, it says nothing of the role that somebody waits for.
      const error = cause instanceof UpstreamSTSError ? new ResolverError("ERR_BASE_UNAVAILABLE", `The sidecar's own identity is not accepted. ${cause.message}`) : cause;
      this.#fault = error instanceof ResolverError ? error.message : "An unexpected fault; the log of the next request has the details.";
      this.#tell(this.#cache.peek(KEY) === null ? "lost" : "ageing");
      throw error;
    }
  }

  #tell(is: BaseState["is"]): void {
    this.#onAttempt({ is, arn: this.#known?.arn ?? null, fault: this.#fault });
  }

  async #provide(): Promise<SigningCredentials> {
    try {
      return await withTimeout(this.#clock, PROVIDER_LIMIT_MS, this.#provider(), () => none(`no answer within ${PROVIDER_LIMIT_MS / 1000} s`));
    } catch (cause) {
      if (cause instanceof ResolverError) throw cause;
      throw none(cause instanceof Error ? cause.name : "unknown");
    }
  }
}

function knownFrom({ arn, sessionToken }: Pick<Credentials, "arn" | "sessionToken">): KnownBase {
  return { arn, isSession: sessionToken !== null };
}

function none(reason: string): ResolverError {
  return new ResolverError("ERR_BASE_UNAVAILABLE", `No credentials for the sidecar itself (${reason}). Give it an identity: web identity, Pod Identity, a profile or an instance role.`);
}
