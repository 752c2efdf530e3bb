import { ResolverError } from "../shared/decisions/errors.ts";
import type { Clock } from "../shared/inventory/clock.ts";
import { within } from "./within.ts";

/** Credentials as STS or the provider chain gave them, with whose they are. */
export interface Credentials {
  readonly accessKeyID: string;
  readonly secretAccessKey: string;
  /** Null for a long-lived key. */
  readonly sessionToken: string | null;
  /** Epoch ms; null when it is not known. */
  readonly expirationMs: number | null;
  readonly accountID: string;
  /** Whom GetCallerIdentity names with them: for a role its session's ARN, and AROA...:NAME. */
  readonly arn: string;
  readonly userID: string;
}

/** Gets credentials anew. `signal` aborts when nobody waits any longer. */
export type Load = (signal: AbortSignal) => Promise<Credentials>;

export interface Lookup {
  /** Tells apart every two sessions that differ in anything, and holds no secret. */
  readonly key: string;
  /** What the session is wanted on. Another object than the last time: somebody has changed it, so a refusal is no longer remembered. */
  readonly basis: object;
  readonly load: Load;
}

export interface CredentialCacheOptions {
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  /** The most entries kept; the one unused for longest goes first. */
  readonly limit?: number;
  readonly onLookup?: (result: "hit" | "miss" | "stale") => void;
}

/** A load that takes longer has failed. */
const LOAD_LIMIT_MS = 5_000;
/** Credentials with less life than this are not given out: the caller still has to use them. */
const MIN_LIFE_MS = 60_000;
/** Refreshed at half of their life, give or take a tenth, so that entries made together part. */
const REFRESH_AT = { share: 0.5, jitter: 0.1, leastMs: 10_000 } as const;
/** How often those are renewed whose end is not known. */
const UNKNOWN_LIFE_MS = 20 * 60_000;
/** An entry nobody asked for in this time is dropped instead of refreshed. SDKs ask once in a session's life of an hour. */
const IDLE_MS = 60 * 60_000;
/** A refusal is about the role and stays true for a while; SDKs ask 3 to 5 times in 3 s. */
const REFUSAL_MS = 10_000;
/** Full jitter between 0 and this, doubled by each failure in a row. */
const BACKOFF = { firstMs: 200, mostMs: 30_000 } as const;
const LIMIT = 1_000;

interface Entry {
  readonly key: string;
  basis: object;
  load: Load;
  credentials: Credentials | null;
  pending: Promise<Credentials> | null;
  failure: { readonly error: unknown; readonly untilMs: number } | null;
  failuresInRow: number;
  lastUsedMs: number;
  cancelRefresh: (() => void) | null;
}

/**
 * Credentials by session, each loaded by one call in flight however many ask and whoever hangs up, renewed at half life
 * while somebody uses them, and never given out empty or about to expire.
 *
 * A circuit over all entries and a budget of calls belong here as well, around `#call`.
 */
export class CredentialCache {
  /** In order of use, the least recent first. */
  readonly #entries = new Map<string, Entry>();
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #limit: number;
  readonly #onLookup: (result: "hit" | "miss" | "stale") => void;

  constructor({ clock, random, limit = LIMIT, onLookup = () => {} }: CredentialCacheOptions) {
    this.#clock = clock;
    this.#random = random;
    this.#limit = limit;
    this.#onLookup = onLookup;
  }

  /** Credentials with at least 60 s to live. Rejects with what `load` rejects with, which is remembered for seconds. */
  async get(lookup: Lookup): Promise<Credentials> {
    const entry = this.#use(lookup);
    const usable = this.#usable(entry);
    this.#onLookup(usable === null ? "miss" : entry.failure === null ? "hit" : "stale");
    if (usable !== null) return usable;
    if (entry.pending !== null) return entry.pending;
    if (entry.failure !== null && this.#clock.now() < entry.failure.untilMs) throw entry.failure.error;
    return this.#load(entry);
  }

  /** What could be given out now, without counting as use. */
  peek(key: string): Credentials | null {
    const entry = this.#entries.get(key);
    return entry === undefined ? null : this.#usable(entry);
  }

  /** The next `get` loads anew. */
  forget(key: string): void {
    const entry = this.#entries.get(key);
    if (entry !== undefined) this.#drop(entry);
  }

  /** What is kept and when it ends, for metrics. */
  *expirations(): Iterable<{ readonly key: string; readonly expirationMs: number | null }> {
    for (const { key, credentials } of this.#entries.values()) {
      if (credentials !== null) yield { key, expirationMs: credentials.expirationMs };
    }
  }

  close(): void {
    for (const entry of this.#entries.values()) this.#drop(entry);
  }

  #use({ key, basis, load }: Lookup): Entry {
    const known = this.#entries.get(key);
    const entry = known ?? {
      key, basis, load, credentials: null, pending: null, failure: null, failuresInRow: 0, lastUsedMs: 0, cancelRefresh: null,
    };
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    if (entry.basis !== basis) entry.failure = null;
    entry.basis = basis;
    entry.load = load;
    entry.lastUsedMs = this.#clock.now();
    const [oldest] = this.#entries.values();
    if (this.#entries.size > this.#limit && oldest !== undefined) this.#drop(oldest);
    return entry;
  }

  #drop(entry: Entry): void {
    entry.cancelRefresh?.();
    this.#entries.delete(entry.key);
  }

  #usable({ credentials }: Entry): Credentials | null {
    return credentials !== null && this.#lives(credentials) ? credentials : null;
  }

  #lives({ expirationMs }: Credentials): boolean {
    return expirationMs === null || expirationMs - this.#clock.now() >= MIN_LIFE_MS;
  }

  #load(entry: Entry): Promise<Credentials> {
    const pending = this.#attempt(entry);
    entry.pending = pending;
    // Those who wait handle it; where all have hung up nobody does, and that is no fault.
    pending.catch(() => {});
    return pending;
  }

  async #attempt(entry: Entry): Promise<Credentials> {
    try {
      const credentials = await this.#call(entry.load);
      entry.credentials = credentials;
      entry.failure = null;
      entry.failuresInRow = 0;
      this.#scheduleRefresh(entry, this.#refreshDelayMs(credentials));
      return credentials;
    } catch (error) {
      this.#remember(entry, error);
      throw error;
    } finally {
      entry.pending = null;
    }
  }

  async #call(load: Load): Promise<Credentials> {
    const abort = new AbortController();
    try {
      const credentials = await within(this.#clock, LOAD_LIMIT_MS, load(abort.signal), tookTooLong);
      if (isWhole(credentials) && this.#lives(credentials)) return credentials;
    } finally {
      abort.abort();
    }
    throw new ResolverError("ERR_STS_UNAVAILABLE", "STS answered with credentials that are incomplete or about to expire.");
  }

  /** STS's word that the role is not ours ends what is kept; in any other trouble that is served on to its end. */
  #remember(entry: Entry, error: unknown): void {
    const refusal = error instanceof ResolverError && error.code === "ERR_STS_REFUSED";
    if (refusal) entry.credentials = null;
    const delayMs = refusal ? REFUSAL_MS : this.#random() * Math.min(BACKOFF.mostMs, BACKOFF.firstMs * 2 ** entry.failuresInRow);
    entry.failuresInRow += 1;
    entry.failure = { error, untilMs: this.#clock.now() + delayMs };
    if (this.#usable(entry) !== null) this.#scheduleRefresh(entry, Math.max(delayMs, REFRESH_AT.leastMs));
  }

  #refreshDelayMs({ expirationMs }: Credentials): number {
    const lifeMs = expirationMs === null ? UNKNOWN_LIFE_MS : expirationMs - this.#clock.now();
    const share = REFRESH_AT.share + REFRESH_AT.jitter * (2 * this.#random() - 1);
    return Math.max(lifeMs * share, REFRESH_AT.leastMs);
  }

  #scheduleRefresh(entry: Entry, delayMs: number): void {
    // An entry that was dropped while its call was under way is not brought back.
    if (this.#entries.get(entry.key) !== entry) return;
    entry.cancelRefresh?.();
    entry.cancelRefresh = this.#clock.schedule(delayMs, () => this.#refresh(entry));
  }

  #refresh(entry: Entry): void {
    if (this.#clock.now() - entry.lastUsedMs >= IDLE_MS) this.#drop(entry);
    else if (entry.pending === null) void this.#load(entry);
  }
}

function tookTooLong(): Error {
  return new ResolverError("ERR_STS_UNAVAILABLE", `STS has not answered within ${LOAD_LIMIT_MS / 1000} s.`);
}

function isWhole({ accessKeyID, secretAccessKey, sessionToken, accountID }: Credentials): boolean {
  return [accessKeyID, secretAccessKey, sessionToken ?? "none", accountID].every((text) => text.length > 0);
}
