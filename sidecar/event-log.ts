import { ResolverError } from "../shared/formats/errors.ts";
import { MAX_CHAINED_SECONDS } from "../shared/model/session.ts";
import type { Logger } from "../shared/server/logger.ts";
import type { BaseState } from "./base/identity.ts";
import type { SourceStatus } from "../shared/sources/source.ts";
import type { CircuitState } from "./sts-upstream/circuit-breaker.ts";
import { CircuitOpenError } from "./sts-upstream/errors.ts";

/** The maximum number of stored session keys, which is the size of the session cache. */
const LIMIT = 1_000;

/**
 * Logs one line for each state change of the STS circuit, of the base identity, of the watch of Secrets, and of the
 * refresh of a session.
 */
export class EventLog {
  readonly #log: Pick<Logger, "info" | "warn">;
  #isCircuitOpen = false;
  #base: string | null = null;
  #areSecretsCurrent = true;
  #hasLoggedShortSession = false;
  #hasLoggedCappedDuration = false;
  /** The keys of the sessions whose last refresh failed. */
  readonly #failing = new Set<string>();

  constructor(log: Pick<Logger, "info" | "warn">) {
    this.#log = log;
  }

  /** Logs when the circuit opens or closes. The half-open state, in which the sidecar probes STS, is not logged. */
  logCircuit(state: CircuitState, reason: string | null): void {
    if (state === "half-open" || this.#isCircuitOpen === (state === "open")) return;
    this.#isCircuitOpen = state === "open";
    if (this.#isCircuitOpen) {
      const message = "circuit opened: calls to STS are suspended, and cached sessions are served until they expire";
      this.#log.warn({ reason }, message);
    } else {
      this.#log.info("circuit closed: STS responds again");
    }
  }

  logBase({ status, arn, fault }: BaseState): void {
    const base = `${status} ${arn ?? ""}`;
    if (this.#base === base) return;
    this.#base = base;
    if (status === "verified") {
      this.#log.info({ base_arn: arn }, "base identity verified with STS");
      return;
    }
    const message = status === "stale"
      ? "base identity refresh failed; the current credentials are used until they expire"
      : "base identity is unavailable; the sidecar cannot request new sessions";
    this.#log.warn({ base_arn: arn, reason: fault }, message);
  }

  /** Logs when the watch of --identity-secret-namespace fails, and when it works again. */
  logSecrets({ loaded, fault }: SourceStatus): void {
    if (this.#areSecretsCurrent === (fault === null)) return;
    this.#areSecretsCurrent = fault === null;
    if (fault === null) {
      this.#log.info("list of Secrets is current again");
    } else {
      const stale = "list of Secrets is stale; the last list is in use";
      this.#log.warn({ fault }, loaded ? stale : "list of Secrets is not loaded yet");
    }
  }

  /**
   * Logs that a session lifetime is too short. Logs only once per process, because roles usually have the same
   * settings.
   */
  logShortSession(roleARN: string, lifeMs: number): void {
    if (this.#hasLoggedShortSession) return;
    this.#hasLoggedShortSession = true;
    const fix = "set MaxSessionDuration of the role and duration-seconds of the selector to at least 3600";
    this.#log.warn(
      { role_arn: roleARN, life_seconds: Math.round(lifeMs / 1000), fix },
      "session lifetime is too short: SDKs may receive credentials with less than 16 minutes left",
    );
  }

  /**
   * Logs that role chaining limits a session. Logs only once per process, because check IRS-46 warns the author of
   * each such selector.
   */
  logCappedDuration(roleARN: string, requestedSeconds: number): void {
    if (this.#hasLoggedCappedDuration) return;
    this.#hasLoggedCappedDuration = true;
    const fix = `set the duration-seconds annotation to at most ${MAX_CHAINED_SECONDS}, the limit of role chaining`;
    this.#log.warn(
      { role_arn: roleARN, requested_seconds: requestedSeconds, fix },
      "role chaining limits the session to 1 hour; the duration-seconds annotation requests a longer session",
    );
  }

  /**
   * Logs the first failed refresh of a session or, if `error` is null, the first successful refresh after a failure.
   * Does not log a failure while the circuit is open, because the open circuit has its own log line.
   */
  logRefresh({ key, roleARN }: { readonly key: string; readonly roleARN: string }, error: unknown): void {
    if (error === null) {
      if (this.#failing.delete(key)) this.#log.info({ role_arn: roleARN }, "session refresh succeeded after a failure");
      return;
    }
    if (error instanceof CircuitOpenError) return;
    this.#failing.add(key);
    const [oldest] = this.#failing;
    if (this.#failing.size > LIMIT && oldest !== undefined) this.#failing.delete(oldest);
    const reason = error instanceof ResolverError
      ? { code: error.code, reason: error.message }
      : { code: "ERR_INTERNAL" };
    this.#log.warn({ role_arn: roleARN, ...reason }, "session refresh failed; retrying until the session expires");
  }
}
