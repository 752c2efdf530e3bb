import type { SteadyClock } from "../../shared/inventory/clock.ts";

/** Credentials as STS or the provider chain gave them, with whose they are. */
export interface Credentials {
  readonly accessKeyID: string;
  readonly secretAccessKey: string;
  /** Null for a long-lived key. */
  readonly sessionToken: string | null;
  /** Epoch ms; null when it is not known. */
  readonly expirationMs: number | null;
  readonly accountID: string;
  /** Whose they are, as GetCallerIdentity names it: an IAM user, or a session `arn:aws:sts::ACCOUNT:assumed-role/ROLE/SESSION`. */
  readonly arn: string;
  /** The unique id that IAM gave them, with the session's name behind a colon. */
  readonly userID: string;
  /** Of a role whose session was narrowed or tagged: per cent of what STS allows. */
  readonly packedPolicySize?: number;
}

/** Credentials that are kept, and when they end by both clocks: the time of day may be set, the steady one may sleep with the machine. */
export interface CachedSession {
  readonly credentials: Credentials;
  /** From the call to the end; null when the end is not known. */
  readonly lifeMs: number | null;
  /** On the steady clock; infinite when it is not known. */
  readonly endsMs: number;
}

/** A moment on both clocks. */
export interface Moment {
  readonly nowMs: number;
  readonly steadyMs: number;
}

/** By how much the clocks may part, being read one after the other and slewed, before the time of day counts as set. */
const SLACK_MS = 1_000;

export function momentOf(clock: SteadyClock): Moment {
  return { nowMs: clock.now(), steadyMs: clock.steady() };
}

/** `asked`: when the call for them began, so that a clock that is set during it does not lengthen their life. */
export function keep(credentials: Credentials, asked: Moment): CachedSession {
  const { expirationMs } = credentials;
  if (expirationMs === null) return { credentials, lifeMs: null, endsMs: Infinity };
  const lifeMs = expirationMs - asked.nowMs;
  return { credentials, lifeMs, endsMs: asked.steadyMs + lifeMs };
}

/** How long they live by the clock that gives them less. */
export function leftMs({ credentials: { expirationMs }, endsMs }: CachedSession, { nowMs, steadyMs }: Moment): number {
  return expirationMs === null ? Infinity : Math.min(expirationMs - nowMs, endsMs - steadyMs);
}

/** The credentials with their end by the time of day as it is now: had the clock been put back, the old end would lie too far off. */
export function asOf(kept: CachedSession, moment: Moment): Credentials {
  const { credentials } = kept;
  const left = leftMs(kept, moment);
  if (credentials.expirationMs === null || credentials.expirationMs - moment.nowMs - left <= SLACK_MS) return credentials;
  return { ...credentials, expirationMs: Math.floor(moment.nowMs + left) };
}
