import type { CachedSession, Credentials } from "./session.ts";

/** Requests new credentials. `signal` aborts when the call times out or the cache closes. */
export type Load = (signal: AbortSignal) => Promise<Credentials>;

export interface Lookup {
  /** Differs for any two sessions that differ in anything. Contains no secret. */
  readonly key: string;
  /**
   * The object that grants the session. A different object means that its owner changed it, so a cached rejection no
   * longer applies.
   */
  readonly grantedBy: object;
  readonly load: Load;
  /** Default true. Calls that no client waits for run after calls that a client waits for. */
  readonly isAwaited?: boolean;
}

/** A call that is in flight or queued. */
export interface Pending {
  readonly credentials: Promise<Credentials>;
  /** Whether a client waits for the call. False for a background refresh. */
  readonly demand: { isAwaited: boolean };
  /** Removes the call from the queue. */
  readonly cancel: AbortController;
}

export interface Failure {
  readonly error: unknown;
  /** On the steady clock. */
  readonly untilMs: number;
  readonly isRejection: boolean;
}

/** The cache's state of one session. */
export interface Entry {
  readonly key: string;
  grantedBy: object;
  load: Load;
  session: CachedSession | null;
  /** The refresh is due at this remaining life, or at this time of the steady clock. */
  refresh: { readonly remainingMs: number; readonly atMs: number };
  pending: Pending | null;
  failure: Failure | null;
  failuresInRow: number;
  /** On the steady clock: when the refresh that has not succeeded yet was first due. */
  overdueSinceMs: number | null;
  /**
   * Grants whose requests STS rejected since its last success. Selectors of one role share an entry, and each retries
   * separately.
   */
  rejectedGrants: WeakSet<object>;
  /** On the steady clock. */
  lastUsedMs: number;
  cancelRefresh: (() => void) | null;
}

/** Returns an entry without a session. */
export function newEntry(lookup: Lookup): Entry {
  return {
    ...lookup, session: null, refresh: { remainingMs: 0, atMs: Infinity }, pending: null,
    failure: null, failuresInRow: 0, overdueSinceMs: null, rejectedGrants: new WeakSet(),
    lastUsedMs: 0, cancelRefresh: null,
  };
}
