import { ResolverError } from "../../shared/formats/errors.ts";
import { type SteadyClock, withTimeout } from "../../shared/core/clock.ts";
import { type CallGuard, type CallOptions, NO_GUARD } from "../sts-upstream/rate-limiter.ts";
import { backoffFor, STSNotCalledError } from "../sts-upstream/errors.ts";
import {
  type CachedSession, type ClockReading, type Credentials, credentialsAt, type Entry, type Failure, isComplete,
  isRefreshDue, type Load, type Lookup, MIN_LIFE_MS, newEntry, type PreparedLoad, readClocks, remainingMs,
  toCachedSession, usableAt,
} from "./session.ts";

export interface CredentialCacheOptions {
  readonly clock: SteadyClock;
  /** In [0, 1). */
  readonly random: () => number;
  /** Limits the calls to STS; default: no limit. */
  readonly guard?: CallGuard;
  /** Counts each lookup. The result `stale` means that the cache returned a session whose last refresh failed. */
  readonly lookups?: { inc: (labels: { readonly result: "hit" | "miss" | "stale" }) => void };
  /** Called for a session whose lifetime is too short: a client may receive it with less than 16 minutes left. */
  readonly onShortLived?: (lookup: Lookup, lifeMs: number) => void;
  /** Called with its error when a refresh fails for the first time, and again after the next successful refresh. */
  readonly onRefresh?: (key: string, error: unknown, state: RefreshState) => void;
}

export type RefreshState = "failing" | "recovered";

/** The maximum duration of a call, in ms. */
const LOAD_LIMIT_MS = 5_000;
/** Sessions are refreshed after half of their lifetime. The jitter spreads those that were created together. */
const REFRESH_AT = { share: 0.5, jitter: 0.1 } as const;
/**
 * The remaining lifetime that a returned session should have, in ms. Some SDKs refresh their credentials 15 minutes
 * before the expiration, so the cache aims for one minute more.
 */
const LIFE_FOR_CLIENTS_MS = 16 * 60_000;
/**
 * The remaining lifetime, in ms, below which a refresh has the priority of a call for which a client waits. It was
 * queued earlier than most of these, so it comes first.
 */
const URGENT_MS = 5 * 60_000;
/**
 * The time between a failed refresh and its retry. After STS recovers, all sessions are refreshed within 30 s, even if
 * a probe hangs for 5 s.
 */
const REFRESH_PAUSE = { minMs: 10_000, maxMs: 20_000 } as const;
/**
 * For credentials whose expiration is unknown, `lifeMs` is the assumed lifetime. The cache evicts these credentials
 * `idleMs` after their last use.
 */
const UNKNOWN_LIFE = { lifeMs: 20 * 60_000, idleMs: 60 * 60_000 } as const;
/** The maximum number of entries. The entry that clients have not used for longest is evicted first. */
const LIMIT = 1_000;

/**
 * Caches credentials by session. All requests for a session share one STS call, which continues when clients
 * disconnect. Sessions in use are refreshed after half of their lifetime. The cache never returns incomplete
 * credentials or credentials that are about to expire.
 */
export class CredentialCache {
  readonly #entries = new Map<string, Entry>();
  readonly #calls = new Set<AbortController>();
  #uses = 0;
  readonly #options: Required<CredentialCacheOptions>;

  constructor(options: CredentialCacheOptions) {
    const none = { lookups: { inc: () => {} }, onShortLived: () => {}, onRefresh: () => {} };
    this.#options = { guard: NO_GUARD, ...none, ...options };
  }

  /**
   * Returns credentials that are valid for at least 60 s. If `load` fails, rejects with its error, and repeats this
   * error until the delay of `backoffFor` has passed.
   */
  async get(lookup: Lookup): Promise<Credentials> {
    const reading = readClocks(this.#options.clock);
    const [entry, { isAwaited = true }] = [this.#touch(lookup, reading), lookup];
    const usable = usableAt(entry, reading);
    if (usable !== null) {
      this.#countUse(entry, reading);
      return usable;
    }
    this.#options.lookups.inc({ result: "miss" });
    if (entry.pending !== null) {
      entry.pending.demand.isAwaited ||= isAwaited;
      return entry.pending.credentials;
    }
    const failure = this.#cachedFailure(entry);
    if (failure !== null) throw failure.error;
    return this.#load(entry, { isAwaited });
  }

  /** Returns the cached credentials; null if `get` would need a call. Does not count as a use of the session. */
  peek(key: string): Credentials | null {
    const entry = this.find(key);
    return entry === undefined ? null : usableAt(entry, readClocks(this.#options.clock));
  }

  /** Returns the entry of the session, while it is cached. */
  find(key: string): Entry | undefined {
    return this.#entries.get(key);
  }

  /** Counts a use of a cached entry that is usable, as `get` does. */
  use(entry: Entry, lookup: Lookup, reading: ClockReading): void {
    this.#markUsed(entry, lookup, reading);
    this.#countUse(entry, reading);
  }

  /** Removes the session, so that the next `get` loads a new session. */
  evict(key: string): void {
    const entry = this.find(key);
    if (entry !== undefined) this.#evict(entry);
  }

  /** Yields the key and the expiration of each cached session, for metrics. */
  *expirations(): Iterable<{ readonly key: string; readonly expirationMs: number | null }> {
    for (const { key, session } of this.#entries.values()) {
      if (session !== null) yield { key, expirationMs: session.credentials.expirationMs };
    }
  }

  /** For how long the most overdue refresh of a session in use has failed, in ms; 0 if no refresh is overdue. */
  get refreshLagMs(): number {
    const steadyMs = this.#options.clock.steady();
    const lagOf = ({ lastUsedMs, overdue }: Entry): number =>
      overdue !== null && steadyMs - lastUsedMs < UNKNOWN_LIFE.idleMs ? steadyMs - overdue.sinceMs : 0;
    return Math.max(0, ...Array.from(this.#entries.values(), lagOf));
  }

  /** Evicts all sessions, and aborts the calls that are in flight. */
  close(): void {
    for (const entry of this.#entries.values()) this.#evict(entry);
    for (const call of this.#calls) call.abort();
  }

  #touch(lookup: Lookup, reading: ClockReading): Entry {
    const known = this.#entries.get(lookup.key);
    const entry = known ?? newEntry(lookup);
    this.#markUsed(entry, lookup, reading);
    if (known !== undefined) return entry;
    if (this.#entries.size >= LIMIT) this.#evictLeastUsed();
    this.#entries.set(lookup.key, entry);
    return entry;
  }

  #markUsed(entry: Entry, lookup: Lookup, { steadyMs }: ClockReading): void {
    entry.lookup = lookup;
    // A probe is no use, so that it does not displace the session of a client.
    if (lookup.isAwaited === false) return;
    entry.lastUsedMs = steadyMs;
    entry.lastUse = ++this.#uses;
  }

  /** Counts the use of usable credentials, and starts a refresh that is due. */
  #countUse(entry: Entry, reading: ClockReading): void {
    this.#options.lookups.inc({ result: entry.failure === null ? "hit" : "stale" });
    // The refresh timer can be late: it stops while the machine sleeps, and it ignores changes of the wall clock.
    if (isRefreshDue(entry, reading)) void this.#load(entry, { isAwaited: false });
  }

  /** Searches all entries, because a new entry needs a call to STS, but a use must be fast. */
  #evictLeastUsed(): void {
    this.#evict([...this.#entries.values()].reduce((least, entry) => (entry.lastUse < least.lastUse ? entry : least)));
  }

  #evict(entry: Entry): void {
    entry.cancelRefresh?.();
    entry.isCached = false;
    this.#entries.delete(entry.key);
    const reason = "Newer sessions evicted the session from the cache before STS was called. Retry the request.";
    entry.pending?.cancel.abort(new STSNotCalledError(reason));
  }

  #isUrgent({ session }: Entry): boolean {
    return session !== null && remainingMs(session, readClocks(this.#options.clock)) < URGENT_MS;
  }

  #cachedFailure({ failure, lookup, rejectedGrants }: Entry): Failure | null {
    if (failure === null || this.#options.clock.steady() >= failure.untilMs) return null;
    return failure.isRejection && !rejectedGrants.has(lookup.grantedBy) ? null : failure;
  }

  #load(entry: Entry, demand: { isAwaited: boolean }): Promise<Credentials> {
    const cancel = new AbortController();
    const options = { isAwaited: () => demand.isAwaited || this.#isUrgent(entry), signal: cancel.signal };
    const credentials = this.#settle(entry, this.#start(entry.lookup.load, options));
    entry.pending = { credentials, demand, cancel };
    // Prevents an unhandled rejection if no client waits. Waiting clients handle the rejection themselves.
    credentials.catch(() => {});
    return credentials;
  }

  /** Queues the call as soon as its input is available. */
  async #start(load: Load | PreparedLoad, options: CallOptions): Promise<CachedSession> {
    const { guard } = this.#options;
    if (typeof load === "function") return guard.run(() => this.#call(load), options);
    guard.check();
    const prepared = await load.prepare();
    return guard.run(() => this.#call(prepared), options);
  }

  async #settle(entry: Entry, call: Promise<CachedSession>): Promise<Credentials> {
    const started = { grantedBy: entry.lookup.grantedBy, steadyMs: this.#options.clock.steady() };
    try {
      const session = await call;
      this.#store(entry, session);
      return credentialsAt(session, readClocks(this.#options.clock));
    } catch (error) {
      this.#recordFailure(entry, error, started);
      throw error;
    } finally {
      entry.pending = null;
    }
  }

  async #call(load: Load): Promise<CachedSession> {
    const { clock } = this.#options;
    const abort = new AbortController();
    this.#calls.add(abort);
    const calledAt = readClocks(clock);
    try {
      const credentials = await withTimeout(clock, LOAD_LIMIT_MS, load(abort.signal), () => (
        new ResolverError("ERR_STS_UNAVAILABLE", `STS did not respond within ${LOAD_LIMIT_MS / 1000} s.`)
      ));
      const session = toCachedSession(credentials, calledAt);
      if (isComplete(credentials) && remainingMs(session, readClocks(clock)) >= MIN_LIFE_MS) return session;
      const message = "STS returned credentials that are incomplete or about to expire.";
      throw new ResolverError("ERR_STS_UNAVAILABLE", message);
    } catch (error) {
      abort.abort();
      throw error;
    } finally {
      this.#calls.delete(abort);
    }
  }

  #store(entry: Entry, session: CachedSession): void {
    const { random, onShortLived, onRefresh } = this.#options;
    const lifeMs = session.lifeMs ?? UNKNOWN_LIFE.lifeMs;
    const minRemainingMs = lifeMs * (1 - REFRESH_AT.share - REFRESH_AT.jitter);
    const isShortLived = session.lifeMs !== null && minRemainingMs < LIFE_FOR_CLIENTS_MS;
    if (entry.session === null && isShortLived) onShortLived(entry.lookup, lifeMs);
    const delayMs = lifeMs * (REFRESH_AT.share + REFRESH_AT.jitter * (2 * random() - 1));
    if (entry.overdue !== null) onRefresh(entry.key, entry.overdue.error, "recovered");
    const noFailures = { failure: null, failuresInRow: 0, overdue: null, rejectedGrants: new WeakSet() };
    Object.assign(entry, { session, ...noFailures } satisfies Partial<Entry>);
    this.#scheduleRefresh(entry, { delayMs, remainingMs: session.lifeMs === null ? 0 : lifeMs - delayMs });
  }

  /**
   * Records the failure and schedules a retry. Unless STS denied the role, a cached session remains usable until it
   * expires.
   */
  #recordFailure(entry: Entry, error: unknown, started: { grantedBy: object; steadyMs: number }): void {
    const { clock, random } = this.#options;
    this.#reportOverdue(entry, error);
    const { delayMs, isCounted, evictsSession, isRejection } = backoffFor(error, entry.failuresInRow, random());
    if (evictsSession) entry.session = null;
    if (isRejection) entry.rejectedGrants.add(started.grantedBy);
    if (isCounted) entry.failuresInRow += 1;
    // The backoff after a rejection starts now. After any other failure, the backoff starts at the start of the call,
    // so that a call that hangs does not extend the backoff.
    const untilMs = (isRejection ? clock.steady() : started.steadyMs) + delayMs;
    entry.failure = { error, untilMs, isRejection };
    if (usableAt(entry, readClocks(clock)) === null) entry.session = null;
    if (entry.session === null) return entry.cancelRefresh?.();
    const pauseMs = REFRESH_PAUSE.minMs + random() * (REFRESH_PAUSE.maxMs - REFRESH_PAUSE.minMs);
    this.#scheduleRefresh(entry, { delayMs: isRejection ? delayMs : pauseMs, remainingMs: 0 });
  }

  #reportOverdue(entry: Entry, error: unknown): void {
    if (entry.session === null || entry.overdue !== null) return;
    entry.overdue = { sinceMs: this.#options.clock.steady(), error };
    this.#options.onRefresh(entry.key, error, "failing");
  }

  #scheduleRefresh(entry: Entry, due: { readonly delayMs: number; readonly remainingMs: number }): void {
    const { clock } = this.#options;
    entry.refresh = { remainingMs: due.remainingMs, atMs: clock.steady() + due.delayMs };
    entry.cancelRefresh?.();
    // Schedules no refresh for an entry that was evicted during its call.
    entry.cancelRefresh = entry.isCached ? clock.schedule(due.delayMs, () => this.#refresh(entry)) : null;
  }

  /**
   * Refreshes the session. Evicts the session instead if no client has used it for its whole lifetime: a client that
   * still needed the session would have requested new credentials before the expiration. Also evicts the session if its
   * role is no longer granted.
   */
  #refresh(entry: Entry): void {
    const idleMs = entry.session?.lifeMs ?? UNKNOWN_LIFE.idleMs;
    const isUnused = this.#options.clock.steady() - entry.lastUsedMs >= idleMs;
    if (isUnused || entry.lookup.isGranted?.() === false) this.#evict(entry);
    else if (entry.pending === null) void this.#load(entry, { isAwaited: false });
  }
}
