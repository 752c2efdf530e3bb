import { ResolverError } from "../../shared/decisions/errors.ts";
import { type SteadyClock, withTimeout } from "../../shared/inventory/clock.ts";
import { NotAsked } from "../sts-upstream/circuit-breaker.ts";
import { type Gate, OPEN_GATE } from "../sts-upstream/rate-limiter.ts";
import { judgeFailure } from "./backoff.ts";
import { type Entry, type Failure, type Load, type Lookup, newEntry } from "./cache-entry.ts";
import { asOf, type Credentials, keep, type CachedSession, leftMs, momentOf } from "./session.ts";

export interface CredentialCacheOptions {
  readonly clock: SteadyClock;
  /** In [0, 1). */
  readonly random: () => number;
  /** What the calls go through; default: none waits. */
  readonly gate?: Gate;
  /** The most entries kept; the one unused for longest goes first. */
  readonly limit?: number;
  /** `stale`: served on after a refresh failed. */
  readonly onLookup?: (result: "hit" | "miss" | "stale") => void;
  /** Sessions came that live too shortly for a client always to be given 16 minutes. */
  readonly onShortLived?: (key: string, lifeMs: number) => void;
  /** A refresh failed, for the first time since it was due, with `error`; or null: the first that succeeded after it. */
  readonly onRefresh?: (key: string, error: unknown) => void;
}

/** A call that takes longer, from its start, has failed. */
const LOAD_LIMIT_MS = 5_000;
/** Credentials with less life than this are not given out: the caller still has to use them. */
const MIN_LIFE_MS = 60_000;
/** Refreshed at half of their life, give or take a tenth, so that entries made together part. */
const REFRESH_AT = { share: 0.5, jitter: 0.1 } as const;
/** What the SDKs with the longest window want to be left, 15 minutes, and one: they refresh with less. */
const LIFE_FOR_CLIENTS_MS = 16 * 60_000;
/** Between a refresh that failed and the next one. With a trial of the circuit that hangs for 5 s all are done within 30 s of STS's return. */
const REFRESH_PAUSE = { leastMs: 10_000, mostMs: 20_000 } as const;
/** How often those are renewed whose end is not known, and how long they are kept for nobody. */
const UNKNOWN_LIFE = { lifeMs: 20 * 60_000, idleMs: 60 * 60_000 } as const;
const LIMIT = 1_000;

/**
 * Credentials by session, each loaded by one call in flight however many ask and whoever hangs up, renewed at half life
 * while somebody uses them, and never given out empty or about to expire.
 */
export class CredentialCache {
  /** In order of use, the least recent first. */
  readonly #entries = new Map<string, Entry>();
  readonly #calls = new Set<AbortController>();
  readonly #options: Required<CredentialCacheOptions>;

  constructor(options: CredentialCacheOptions) {
    this.#options = { gate: OPEN_GATE, limit: LIMIT, onLookup: () => {}, onShortLived: () => {}, onRefresh: () => {}, ...options };
  }

  /** Credentials with at least 60 s to live. Rejects with what `load` rejects with, which is remembered for a while. */
  async get(lookup: Lookup): Promise<Credentials> {
    const [entry, { isAwaited = true }] = [this.#use(lookup), lookup];
    const usable = this.#usable(entry);
    if (usable !== null) {
      this.#options.onLookup(entry.failure === null ? "hit" : "stale");
      // The timer may be late: it does not run while the machine sleeps, and knows nothing of a clock that was set.
      if (this.#isDue(entry)) void this.#load(entry, { isAwaited: false });
      return usable;
    }
    this.#options.onLookup("miss");
    if (entry.pending !== null) {
      entry.pending.waits.isAwaited ||= isAwaited;
      return entry.pending.credentials;
    }
    const failure = this.#remembered(entry);
    if (failure !== null) throw failure.error;
    return this.#load(entry, { isAwaited });
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
    for (const { key, kept } of this.#entries.values()) {
      if (kept !== null) yield { key, expirationMs: kept.credentials.expirationMs };
    }
  }

  /** For how long the refresh is due that has been failing for the longest, of what somebody still asks for. */
  get refreshLagMs(): number {
    const steadyMs = this.#options.clock.steady();
    const isAsked = ({ lastUsedMs }: Entry): boolean => steadyMs - lastUsedMs < UNKNOWN_LIFE.idleMs;
    return Math.max(0, ...Array.from(this.#entries.values(), (entry) => (isAsked(entry) ? steadyMs - (entry.overdueMs ?? steadyMs) : 0)));
  }

  /** Calls under way are given up. */
  close(): void {
    for (const entry of this.#entries.values()) this.#drop(entry);
    for (const call of this.#calls) call.abort();
  }

  #use({ key, grantedBy, load }: Lookup): Entry {
    const entry = this.#entries.get(key) ?? newEntry({ key, grantedBy, load });
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    entry.grantedBy = grantedBy;
    entry.load = load;
    entry.lastUsedMs = this.#options.clock.steady();
    const [oldest] = this.#entries.values();
    if (this.#entries.size > this.#options.limit && oldest !== undefined) this.#drop(oldest);
    return entry;
  }

  #drop(entry: Entry): void {
    entry.cancelRefresh?.();
    this.#entries.delete(entry.key);
    entry.pending?.unwanted.abort(new NotAsked("STS was not asked yet when newer sessions took this one's place; ask again."));
  }

  #usable({ kept }: Entry): Credentials | null {
    const moment = momentOf(this.#options.clock);
    return kept !== null && leftMs(kept, moment) >= MIN_LIFE_MS ? asOf(kept, moment) : null;
  }

  #isDue({ kept, refresh, pending }: Entry): boolean {
    const moment = momentOf(this.#options.clock);
    return kept !== null && pending === null && (moment.steadyMs >= refresh.atMs || leftMs(kept, moment) <= refresh.leftMs);
  }

  #remembered({ failure, grantedBy, refusedOn }: Entry): Failure | null {
    if (failure === null || this.#options.clock.steady() >= failure.untilMs) return null;
    return failure.refused && !refusedOn.has(grantedBy) ? null : failure;
  }

  #load(entry: Entry, waits: { isAwaited: boolean }): Promise<Credentials> {
    const unwanted = new AbortController();
    const call = this.#options.gate.run(() => this.#call(entry.load), { isAwaited: () => waits.isAwaited, unwanted: unwanted.signal });
    const credentials = this.#settle(entry, call);
    entry.pending = { credentials, waits, unwanted };
    // Those who wait handle it; where all have hung up nobody does, and that is no fault.
    credentials.catch(() => {});
    return credentials;
  }

  async #settle(entry: Entry, call: Promise<CachedSession>): Promise<Credentials> {
    const asked = { grantedBy: entry.grantedBy, steadyMs: this.#options.clock.steady() };
    try {
      const kept = await call;
      this.#keep(entry, kept);
      return asOf(kept, momentOf(this.#options.clock));
    } catch (error) {
      this.#remember(entry, error, asked);
      throw error;
    } finally {
      entry.pending = null;
    }
  }

  async #call(load: Load): Promise<CachedSession> {
    const { clock } = this.#options;
    const abort = new AbortController();
    this.#calls.add(abort);
    const asked = momentOf(clock);
    try {
      const credentials = await withTimeout(clock, LOAD_LIMIT_MS, load(abort.signal), tookTooLong);
      const kept = keep(credentials, asked);
      if (isWhole(credentials) && leftMs(kept, momentOf(clock)) >= MIN_LIFE_MS) return kept;
      throw new ResolverError("ERR_STS_UNAVAILABLE", "STS answered with credentials that are incomplete or about to expire.");
    } catch (error) {
      abort.abort();
      throw error;
    } finally {
      this.#calls.delete(abort);
    }
  }

  #keep(entry: Entry, kept: CachedSession): void {
    const { random, onShortLived, onRefresh } = this.#options;
    const lifeMs = kept.lifeMs ?? UNKNOWN_LIFE.lifeMs;
    const leastLeftMs = lifeMs * (1 - REFRESH_AT.share - REFRESH_AT.jitter);
    if (entry.kept === null && kept.lifeMs !== null && leastLeftMs < LIFE_FOR_CLIENTS_MS) onShortLived(entry.key, kept.lifeMs);
    const delayMs = lifeMs * (REFRESH_AT.share + REFRESH_AT.jitter * (2 * random() - 1));
    if (entry.overdueMs !== null) onRefresh(entry.key, null);
    Object.assign(entry, { kept, failure: null, failuresInRow: 0, overdueMs: null, refusedOn: new WeakSet() } satisfies Partial<Entry>);
    this.#scheduleRefresh(entry, { delayMs, leftMs: kept.lifeMs === null ? 0 : lifeMs - delayMs });
  }

  /** What is kept is served on to its end, unless STS says that the role is not ours. */
  #remember(entry: Entry, error: unknown, asked: { readonly grantedBy: object; readonly steadyMs: number }): void {
    const { clock, random } = this.#options;
    this.#noteOverdue(entry, error);
    const verdict = judgeFailure(error, entry.failuresInRow, random());
    if (verdict.endsKept) entry.kept = null;
    if (verdict.refused) entry.refusedOn.add(asked.grantedBy);
    if (verdict.counts) entry.failuresInRow += 1;
    // Backing off counts from when STS was asked, so that a call which hung does not make it longer.
    const untilMs = (verdict.refused ? clock.steady() : asked.steadyMs) + verdict.forMs;
    entry.failure = { error, untilMs, refused: verdict.refused };
    if (this.#usable(entry) === null) entry.kept = null;
    if (entry.kept === null) return entry.cancelRefresh?.();
    const pauseMs = REFRESH_PAUSE.leastMs + random() * (REFRESH_PAUSE.mostMs - REFRESH_PAUSE.leastMs);
    this.#scheduleRefresh(entry, { delayMs: verdict.refused ? verdict.forMs : pauseMs, leftMs: 0 });
  }

  #noteOverdue(entry: Entry, error: unknown): void {
    if (entry.kept === null || entry.overdueMs !== null) return;
    entry.overdueMs = this.#options.clock.steady();
    this.#options.onRefresh(entry.key, error);
  }

  #scheduleRefresh(entry: Entry, { delayMs, leftMs: left }: { readonly delayMs: number; readonly leftMs: number }): void {
    const { clock } = this.#options;
    entry.refresh = { leftMs: left, atMs: clock.steady() + delayMs };
    entry.cancelRefresh?.();
    // An entry that was dropped while its call was under way is not brought back.
    entry.cancelRefresh = this.#entries.get(entry.key) === entry ? clock.schedule(delayMs, () => this.#refresh(entry)) : null;
  }

  /** A client asks again before what it was given ends, so one that has not asked for a whole life is gone. */
  #refresh(entry: Entry): void {
    const idleMs = entry.kept?.lifeMs ?? UNKNOWN_LIFE.idleMs;
    if (this.#options.clock.steady() - entry.lastUsedMs >= idleMs) this.#drop(entry);
    else if (entry.pending === null) void this.#load(entry, { isAwaited: false });
  }
}

function tookTooLong(): Error {
  return new ResolverError("ERR_STS_UNAVAILABLE", `STS has not answered within ${LOAD_LIMIT_MS / 1000} s.`);
}

function isWhole({ accessKeyID, secretAccessKey, sessionToken, accountID, arn, userID }: Credentials): boolean {
  return [accessKeyID, secretAccessKey, sessionToken ?? "none", accountID, arn, userID].every((text) => text.length > 0);
}
