import { hash } from "node:crypto";
import type { SteadyClock } from "../../shared/core/clock.ts";
import { compareText } from "../../shared/formats/text.ts";
import type { SessionRequest } from "../../shared/core/session.ts";
import { BoundedMap } from "../../shared/server/bounded-map.ts";

/** The caller of STS: its identity, and the Region of the STS endpoint. */
export interface Caller {
  /**
   * The ARN of the base identity, or the key of the session that signs the call, which is a JSON array. The session key
   * ignores the session name in an ARN, because the session name changes at each renewal.
   */
  readonly identity: string;
  /** The Region of the STS endpoint; null for a custom endpoint. */
  readonly region: string | null;
  /** The key of the only object to which the session belongs. Absent if objects with the same role may share it. */
  readonly owner?: string;
}

/**
 * Returns the cache key of a session. Sessions have the same key only if their callers and request parameters are the
 * same. The order of tags and policy ARNs does not affect the key. The key contains the role ARN and the owner in plain
 * text, for metrics and logs, and a digest of the other parts, which can be confidential.
 */
export function sessionKey(request: SessionRequest, { identity, region, owner }: Caller): string {
  const { roleARN, sessionName, durationSeconds, externalID, sourceIdentity, tags, policy } = request;
  const sortedTags = tags.map(({ key, value }) => JSON.stringify([key, value])).toSorted(compareText);
  const distinct = [
    withoutSessionName(identity), region, sessionName, durationSeconds, externalID, sourceIdentity, sortedTags,
    policy === null ? null : digestOf(policy), request.policyARNs.toSorted(compareText),
    request.transitiveTagKeys.toSorted(compareText),
  ];
  const digest = hash("sha256", JSON.stringify(distinct), "base64url");
  return JSON.stringify(owner === undefined ? [roleARN, digest] : [roleARN, digest, owner]);
}

/** The digests of the last policies. Most sessions of a sidecar have the same one, longer than the rest of the key. */
const DIGESTS = new BoundedMap<string, string>(1_000);

function digestOf(policy: string): string {
  const known = DIGESTS.get(policy);
  if (known !== undefined) return known;
  const digest = hash("sha256", policy, "base64url");
  DIGESTS.set(policy, digest);
  return digest;
}

/** Returns the role ARN in a session key. */
export function roleOfSession(key: string): string {
  const parts: unknown = JSON.parse(key);
  const role: unknown = Array.isArray(parts) ? parts[0] : null;
  return typeof role === "string" ? role : "";
}

function withoutSessionName(arn: string): string {
  return arn.replace(/^(arn:[^:]*:sts::\d*:assumed-role\/[^/]*)\/.*$/, "$1");
}

/** Credentials from STS or the provider chain, and the identity that they belong to. */
export interface Credentials {
  readonly accessKeyID: string;
  readonly secretAccessKey: string;
  /** The session token; null for a long-lived key. */
  readonly sessionToken: string | null;
  /** The expiration in epoch ms; null if the expiration is unknown. */
  readonly expirationMs: number | null;
  readonly accountID: string;
  /**
   * The ARN that GetCallerIdentity returns: an IAM user, or a session `arn:aws:sts::ACCOUNT:assumed-role/ROLE/SESSION`.
   */
  readonly arn: string;
  /** The unique ID that IAM assigned. The unique ID of a session ends with a colon and the session name. */
  readonly userID: string;
  /** The size of the session policies and tags, as a percentage of the STS limit; absent if the session has neither. */
  readonly packedPolicySize?: number;
  /** The response in which STS created the credentials; absent for all other credentials. */
  readonly origin?: {
    /** The ID of the request, which CloudTrail records too; null if the response has none. */
    readonly requestID: string | null;
    readonly sourceIdentity: string | null;
  };
}

/** Whether no field is empty. A response of STS that was cut off has empty fields. */
export function isComplete(credentials: Credentials): boolean {
  const { accessKeyID, secretAccessKey, sessionToken, accountID, arn, userID } = credentials;
  const fields = [accessKeyID, secretAccessKey, sessionToken ?? "none", accountID, arn, userID];
  return fields.every((text) => text.length > 0);
}

/** The properties of an identity that GetCallerIdentity returns. */
export type CallerIdentity = Pick<Credentials, "accountID" | "arn" | "userID">;

/** Credentials that sign calls to STS. The identity of these credentials may not be known yet. */
export type SigningCredentials = Omit<Credentials, keyof CallerIdentity>;

/**
 * Cached credentials, and their expiration on the wall clock and on the steady clock. Both clocks are needed: the wall
 * clock can be set, and the steady clock can stop while the machine sleeps.
 */
export interface CachedSession {
  readonly credentials: Credentials;
  /** The time from the STS call to the expiration, in ms; null if the expiration is unknown. */
  readonly lifeMs: number | null;
  /** The expiration on the steady clock; infinite if the expiration is unknown. */
  readonly expiresAtMs: number;
}

/** The current time on the wall clock and on the steady clock. */
export interface ClockReading {
  readonly nowMs: number;
  readonly steadyMs: number;
}

/**
 * The tolerated difference between the remaining lifetimes on the two clocks, in ms. Small differences are normal,
 * because the clocks are read one after the other and the wall clock is slewed. A larger difference means that the wall
 * clock was set.
 */
const TOLERANCE_MS = 1_000;

/** Returns the current time on the wall clock and on the steady clock. */
export function readClocks(clock: SteadyClock): ClockReading {
  return { nowMs: clock.now(), steadyMs: clock.steady() };
}

/**
 * Returns the cached form of `credentials`. `calledAt` is the time at which the STS call started, so a change of the
 * wall clock during the call does not extend the session's lifetime.
 */
export function toCachedSession(credentials: Credentials, calledAt: ClockReading): CachedSession {
  const { expirationMs } = credentials;
  if (expirationMs === null) return { credentials, lifeMs: null, expiresAtMs: Infinity };
  const lifeMs = expirationMs - calledAt.nowMs;
  return { credentials, lifeMs, expiresAtMs: calledAt.steadyMs + lifeMs };
}

/** Returns the remaining lifetime in ms, on the clock on which the session expires first. */
export function remainingMs(session: CachedSession, { nowMs, steadyMs }: ClockReading): number {
  const { credentials: { expirationMs }, expiresAtMs } = session;
  return expirationMs === null ? Infinity : Math.min(expirationMs - nowMs, expiresAtMs - steadyMs);
}

/**
 * Returns the credentials, with an expiration that is correct on the current wall clock. After the wall clock was set
 * back, the original expiration would be too late.
 */
export function credentialsAt(session: CachedSession, reading: ClockReading): Credentials {
  const { credentials } = session;
  if (credentials.expirationMs === null) return credentials;
  const remaining = remainingMs(session, reading);
  if (credentials.expirationMs - reading.nowMs - remaining <= TOLERANCE_MS) return credentials;
  return { ...credentials, expirationMs: Math.floor(reading.nowMs + remaining) };
}

/** A grant of credentials that are obtained in their own way, such as with a chain of roles. */
export interface SessionGrant {
  readonly verdict: "session";
  /** Identifies the session and its renewals. Contains no secret. */
  readonly sessionKey: string;
  /** Returns the credentials. Rejects if they may not be issued. */
  readonly get: () => Promise<Credentials>;
  /** What the audit log contains of the grant. */
  readonly auditFields: Readonly<Record<string, unknown>>;
}

/** Requests new credentials from STS. `signal` aborts when the call times out or the cache closes. */
export type Load = (signal: AbortSignal) => Promise<Credentials>;

/** Requests new credentials with a call that needs an input, such as the session that signs the call. */
export interface PreparedLoad {
  /**
   * Gets the input, and returns the call. The cache calls `prepare` before the call waits for the rate limiter: the
   * input can be a session that needs a call too, and calls that wait for each other, or for another server, could
   * occupy all slots of the rate limiter. While the circuit is open, the cache does not call `prepare`.
   */
  readonly prepare: () => Promise<Load>;
}

export interface Lookup {
  /** The cache key of the session, as `sessionKey` returns it. The key contains no secret. */
  readonly key: string;
  /**
   * The object that grants the session. A changed selector is a different object, so the cache retries a rejected
   * request after the change.
   */
  readonly grantedBy: object;
  readonly load: Load | PreparedLoad;
  /**
   * Whether the role of the session is still granted. If the role is no longer granted, the cache evicts the session
   * and does not refresh it.
   */
  readonly isGranted?: () => boolean;
  /** What sets the duration of the session, for the log. Absent if nothing does. */
  readonly durationField?: string;
  /** Whether a client waits for the call; default true. The rate limiter prefers calls for waiting clients. */
  readonly isAwaited?: boolean;
}

/** A call that is in flight or queued. */
interface Pending {
  readonly credentials: Promise<Credentials>;
  /**
   * Whether a client waits for the call. The value is false for a background refresh until a client waits for its
   * result.
   */
  readonly demand: { isAwaited: boolean };
  /** Aborting this controller removes the call from the queue of the rate limiter. */
  readonly cancel: AbortController;
}

export interface Failure {
  readonly error: unknown;
  /** The end of the backoff, on the steady clock. */
  readonly untilMs: number;
  readonly isRejection: boolean;
}

/** The state of one session in the cache. */
export interface Entry {
  readonly key: string;
  /** Whether the cache contains the entry. */
  isCached: boolean;
  /** The last lookup. */
  lookup: Lookup;
  session: CachedSession | null;
  /**
   * The refresh is due as soon as the remaining lifetime of the session is `remainingMs`, or the steady clock reaches
   * `atMs`.
   */
  refresh: { readonly remainingMs: number; readonly atMs: number };
  pending: Pending | null;
  failure: Failure | null;
  failuresInRow: number;
  /** When the current refresh first failed, on the steady clock, and why; null if the last call succeeded. */
  overdue: { readonly sinceMs: number; readonly error: unknown } | null;
  /**
   * The grants whose requests STS rejected since the last successful call. Selectors that have the same role can share
   * an entry, but each selector has its own rejection.
   */
  rejectedGrants: WeakSet<object>;
  /** The time of the last lookup for which a client waited, on the steady clock. */
  lastUsedMs: number;
  /** The number of that lookup among those of all sessions; 0 without any. */
  lastUse: number;
  cancelRefresh: (() => void) | null;
}

/** Returns a new entry that has no session yet. */
export function newEntry(lookup: Lookup): Entry {
  return {
    key: lookup.key, isCached: true, lookup, session: null, refresh: { remainingMs: 0, atMs: Infinity }, pending: null,
    failure: null, failuresInRow: 0, overdue: null, rejectedGrants: new WeakSet(),
    lastUsedMs: -Infinity, lastUse: 0, cancelRefresh: null,
  };
}

/** The minimum remaining lifetime of returned credentials, in ms. The caller needs time to use the credentials. */
export const MIN_LIFE_MS = 60_000;

/** Returns the credentials of the entry if they are valid for at least 60 s. */
export function usableAt({ session }: Entry, reading: ClockReading): Credentials | null {
  return session !== null && remainingMs(session, reading) >= MIN_LIFE_MS ? credentialsAt(session, reading) : null;
}

/** Whether the session should be refreshed: no timer has refreshed it, although it is time. */
export function isRefreshDue({ session, refresh, pending }: Entry, reading: ClockReading): boolean {
  if (session === null || pending !== null) return false;
  return reading.steadyMs >= refresh.atMs || remainingMs(session, reading) <= refresh.remainingMs;
}
