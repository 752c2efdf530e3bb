import type { Credentials, Load, Lookup } from "./credential-cache.ts";
import type { KeptSession } from "./kept-session.ts";

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
  basis: object;
  load: Load;
  kept: KeptSession | null;
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
