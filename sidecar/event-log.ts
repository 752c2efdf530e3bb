import { ResolverError } from "../shared/formats/errors.ts";
import type { Closures } from "../shared/core/closures.ts";
import { MAX_CHAINED_SECONDS } from "../shared/core/session.ts";
import type { Logger } from "../shared/server/logger.ts";
import type { BaseState } from "./base/identity.ts";
import type { RefreshState } from "./credentials/cache.ts";
import { type Lookup, roleOfSession } from "./credentials/session.ts";
import type { SourceStatus } from "../shared/sources/source.ts";
import type { CircuitState } from "./sts-upstream/circuit-breaker.ts";
import { CircuitOpenError } from "./sts-upstream/errors.ts";

/**
 * Logs one line for each state change of the STS circuit, of the base identity, of a watch, and of the refresh of a
 * session.
 */
export class EventLog {
  readonly #log: Pick<Logger, "info" | "warn">;
  /** The last state of each subject. */
  readonly #states = new Map([["circuit", "closed"]]);

  constructor(log: Pick<Logger, "info" | "warn">) {
    this.#log = log;
  }

  /** Logs when the circuit opens or closes. The half-open state, in which the sidecar probes STS, is not logged. */
  logCircuit(state: CircuitState, reason: string | null): void {
    if (state === "half-open" || !this.#hasChanged("circuit", state)) return;
    if (state === "open") {
      const message = "circuit opened: calls to STS are suspended, and cached sessions are served until they expire";
      this.#log.warn({ reason }, message);
    } else {
      this.#log.info("circuit closed: STS responds again");
    }
  }

  logBase({ status, arn, fault }: BaseState): void {
    if (!this.#hasChanged("base", `${status} ${arn ?? ""}`)) return;
    if (status === "verified") {
      this.#log.info({ base_arn: arn }, "base identity verified with STS");
      return;
    }
    const message = status === "stale"
      ? "base identity refresh failed; the current credentials are used until they expire"
      : "base identity is unavailable; the sidecar cannot request new sessions";
    this.#log.warn({ base_arn: arn, reason: fault }, message);
  }

  /** Logs when a watch, such as that of --profile-namespace, fails, and when it works again. */
  logWatch(subject: string, { loaded, fault }: SourceStatus): void {
    if (!this.#hasChanged(subject, fault === null ? "current" : "stale", "current")) return;
    if (fault === null) {
      this.#log.info(`${subject} is current again`);
    } else {
      const state = loaded ? "is stale; the last one is in use" : "is not loaded yet";
      this.#log.warn({ fault }, `${subject} ${state}`);
    }
  }

  /** Logs what the sidecar closes when it learns this from the profile of the installation, and after each change. */
  logClosures({ base, unmatched, sessionScope }: Closures): void {
    if (!this.#hasChanged("closures", `${base} ${unmatched} ${sessionScope}`)) return;
    this.#log.info(
      {
        base: base ? "identity-only" : "vend", unmatched: unmatched ? "deny" : "base",
        session_scope: sessionScope ? "service" : "none",
      },
      "the profile of the installation applies",
    );
  }

  /** Logs why clients get the credentials of the base identity without the session scope. Logs each reason once. */
  logUnlimitedBase(reason: string): void {
    if (!this.#hasChanged("unlimited base", reason)) return;
    const fix = "set --base identity-only, or let the trust policy of the role name the role itself";
    this.#log.warn({ reason, fix }, "the session scope does not limit the sidecar's own credentials");
  }

  /**
   * Logs that a session lifetime is too short. Logs only once per process, because roles usually have the same
   * settings.
   */
  logShortSession({ key, durationField }: Pick<Lookup, "key" | "durationField">, lifeMs: number): void {
    if (!this.#hasChanged("short session", "logged")) return;
    const fields = ["MaxSessionDuration of the role", durationField].filter((field) => field !== undefined);
    const fix = `set ${fields.join(" and ")} to at least 3600`;
    this.#log.warn(
      { role_arn: roleOfSession(key), life_seconds: Math.round(lifeMs / 1000), fix },
      "session lifetime is too short: SDKs may receive credentials with less than 16 minutes left",
    );
  }

  /**
   * Logs that role chaining limits a session. Logs only once per process, because check IRS-46 warns the author of
   * each such selector.
   */
  logCappedDuration(roleARN: string, requestedSeconds: number): void {
    if (!this.#hasChanged("capped duration", "logged")) return;
    const fix = `set the duration-seconds annotation to at most ${MAX_CHAINED_SECONDS}, the limit of role chaining`;
    this.#log.warn(
      { role_arn: roleARN, requested_seconds: requestedSeconds, fix },
      "role chaining limits the session to 1 hour; the duration-seconds annotation requests a longer session",
    );
  }

  /**
   * Logs the first failed refresh of a session, and the first successful refresh after it. Logs neither if the circuit
   * was open, because the open circuit has its own log line.
   */
  logRefresh(roleARN: string, error: unknown, state: RefreshState): void {
    if (error instanceof CircuitOpenError) return;
    if (state === "recovered") {
      this.#log.info({ role_arn: roleARN }, "session refresh succeeded after a failure");
      return;
    }
    const reason = error instanceof ResolverError
      ? { code: error.code, reason: error.message }
      : { code: "ERR_INTERNAL" };
    this.#log.warn({ role_arn: roleARN, ...reason }, "session refresh failed; retrying until the session expires");
  }

  /** Sets the state of the subject. Returns whether it was another one. */
  #hasChanged(subject: string, state: string, initial?: string): boolean {
    const before = this.#states.get(subject) ?? initial;
    this.#states.set(subject, state);
    return before !== state;
  }
}
