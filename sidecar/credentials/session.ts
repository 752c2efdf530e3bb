import type { SteadyClock } from "../../shared/inventory/clock.ts";

/** Credentials from STS or the provider chain, with their identity. */
export interface Credentials {
  readonly accessKeyID: string;
  readonly secretAccessKey: string;
  /** Null for a long-lived key. */
  readonly sessionToken: string | null;
  /** Epoch ms; null if unknown. */
  readonly expirationMs: number | null;
  readonly accountID: string;
  /** As GetCallerIdentity returns it: an IAM user, or a session `arn:aws:sts::ACCOUNT:assumed-role/ROLE/SESSION`. */
  readonly arn: string;
  /** IAM's unique ID. A session's ends with a colon and the session name. */
  readonly userID: string;
  /** Percentage of the STS limit; set for sessions with a policy or tags. */
  readonly packedPolicySize?: number;
}

/** The identity that GetCallerIdentity returns. */
export type CallerIdentity = Pick<Credentials, "accountID" | "arn" | "userID">;

/** Credentials that sign calls. Their identity may not be known yet. */
export type SigningCredentials = Omit<Credentials, keyof CallerIdentity>;

/**
 * Cached credentials with their expiration on both clocks: the wall clock can be set, and the steady clock can stop
 * during sleep.
 */
export interface CachedSession {
  readonly credentials: Credentials;
  /** From the call to the expiration; null if the expiration is unknown. */
  readonly lifeMs: number | null;
  /** On the steady clock; infinite if unknown. */
  readonly expiresAtMs: number;
}

/** The same moment on both clocks. */
interface ClockReading {
  readonly nowMs: number;
  readonly steadyMs: number;
}

/**
 * The clocks are read one after the other, and the wall clock is slewed. A larger difference means that the wall clock
 * was set.
 */
const TOLERANCE_MS = 1_000;

/** Returns the current time on both clocks. */
export function readClocks(clock: SteadyClock): ClockReading {
  return { nowMs: clock.now(), steadyMs: clock.steady() };
}

/** `calledAt` is the start of the call, so setting the clock during the call does not extend the session's life. */
export function toCachedSession(credentials: Credentials, calledAt: ClockReading): CachedSession {
  const { expirationMs } = credentials;
  if (expirationMs === null) return { credentials, lifeMs: null, expiresAtMs: Infinity };
  const lifeMs = expirationMs - calledAt.nowMs;
  return { credentials, lifeMs, expiresAtMs: calledAt.steadyMs + lifeMs };
}

/** Returns the remaining life on the clock that reports less. */
export function remainingMs(session: CachedSession, { nowMs, steadyMs }: ClockReading): number {
  const { credentials: { expirationMs }, expiresAtMs } = session;
  return expirationMs === null ? Infinity : Math.min(expirationMs - nowMs, expiresAtMs - steadyMs);
}

/**
 * Returns the credentials with their expiration on the current wall clock. If that clock was set back, the old
 * expiration is too late.
 */
export function credentialsAt(session: CachedSession, reading: ClockReading): Credentials {
  const { credentials } = session;
  if (credentials.expirationMs === null) return credentials;
  const remaining = remainingMs(session, reading);
  if (credentials.expirationMs - reading.nowMs - remaining <= TOLERANCE_MS) return credentials;
  return { ...credentials, expirationMs: Math.floor(reading.nowMs + remaining) };
}

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
