import type { Credentials, CachedSession } from "./session.ts";

/** Gets credentials anew. `signal` aborts when nobody waits any longer. */
export type Load = (signal: AbortSignal) => Promise<Credentials>;

export interface Lookup {
  /** Tells apart every two sessions that differ in anything, and holds no secret. */
  readonly key: string;
  /** What the session is wanted on. One that STS has not refused yet: somebody has changed it, so that a refusal is no longer remembered. */
  readonly grantedBy: object;
  readonly load: Load;
  /** Default true; where nobody waits for it, it goes behind those that somebody waits for. */
  readonly isAwaited?: boolean;
}

/** A call on its way, or waiting for its turn. */
export interface Pending {
  readonly credentials: Promise<Credentials>;
  /** Whether somebody waits for it, and not only for what is kept to be fresh. */
  readonly waits: { isAwaited: boolean };
  readonly unwanted: AbortController;
}

export interface Failure {
  readonly error: unknown;
  /** On the steady clock. */
  readonly untilMs: number;
  readonly refused: boolean;
}

/** What the cache knows of one session. */
export interface Entry {
  readonly key: string;
  grantedBy: object;
  load: Load;
  kept: CachedSession | null;
  /** Life left at which it is refreshed, and when that is by the steady clock. */
  refresh: { readonly leftMs: number; readonly atMs: number };
  pending: Pending | null;
  failure: Failure | null;
  failuresInRow: number;
  /** On the steady clock: since when a refresh is due that has not succeeded. */
  overdueMs: number | null;
  /** On what STS has refused since it last granted. Selectors of one role share an entry, and each asks on its own. */
  refusedOn: WeakSet<object>;
  /** On the steady clock. */
  lastUsedMs: number;
  cancelRefresh: (() => void) | null;
}

/** Nothing is kept yet. */
export function newEntry(lookup: Lookup): Entry {
  return {
    ...lookup, kept: null, refresh: { leftMs: 0, atMs: Infinity }, pending: null, failure: null, failuresInRow: 0, overdueMs: null,
    refusedOn: new WeakSet(), lastUsedMs: 0, cancelRefresh: null,
  };
}
