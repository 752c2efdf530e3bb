import { ResolverError } from "../shared/decisions/errors.ts";
import { CHAINED_SECONDS } from "../shared/decisions/selectors/session.ts";
import type { Logger } from "../shared/server/logger.ts";
import type { BaseState } from "./base/identity.ts";
import { CircuitOpen, type CircuitState } from "./sts-upstream/circuit-breaker.ts";

/**
 * A line for each change of what the sidecar stands on, and none for what stays: STS asked or not, its own identity, and whether a role's
 * session is renewed.
 */
export class EventLog {
  readonly #log: Pick<Logger, "info" | "warn">;
  #circuitIsOpen = false;
  #base: string | null = null;
  #saidShortLived = false;
  #saidCapped = false;
  /** Keys of sessions whose refresh was said to fail; at most as many as are kept. */
  readonly #failing = new Set<string>();

  constructor(log: Pick<Logger, "info" | "warn">) {
    this.#log = log;
  }

  /** The trials in between, at which it is half open, are no change. */
  circuit(state: CircuitState, reason: string | null): void {
    if (state === "half-open" || this.#circuitIsOpen === (state === "open")) return;
    this.#circuitIsOpen = state === "open";
    if (this.#circuitIsOpen) this.#log.warn({ reason }, "circuit opened: STS is not asked, sessions that are kept are served to their end");
    else this.#log.info("circuit closed: STS answers again");
  }

  base(state: BaseState): void {
    const said = `${state.is} ${state.arn ?? ""}`;
    if (this.#base === said) return;
    this.#base = said;
    const { arn, fault } = state;
    if (state.is === "proven") this.#log.info({ base_arn: arn }, "base identity proven with STS");
    else if (state.is === "ageing") this.#log.warn({ base_arn: arn, reason: fault }, "base identity could not be renewed; the one in hand is used to its end");
    else this.#log.warn({ base_arn: arn, reason: fault }, "no base identity: nothing new can be asked of STS");
  }

  /** Once for the process: it is how the roles are set up, and one is as good as all to see it by. */
  shortLived(roleARN: string, lifeMs: number): void {
    if (this.#saidShortLived) return;
    this.#saidShortLived = true;
    const fix = "Raise the role's MaxSessionDuration to an hour, and the selector's duration-seconds annotation with it.";
    this.#log.warn({ role_arn: roleARN, life_seconds: Math.round(lifeMs / 1000), fix }, "sessions live so shortly that SDKs are at times given less than the 16 minutes they want");
  }

  /** Once for the process too: IRS-46b has told the selectors' authors, each of their own. */
  durationCapped(roleARN: string, wantedSeconds: number): void {
    if (this.#saidCapped) return;
    this.#saidCapped = true;
    const fix = `Annotate at most ${CHAINED_SECONDS} as duration-seconds: a session that is made from another one lasts an hour at most.`;
    this.#log.warn({ role_arn: roleARN, wanted_seconds: wantedSeconds, fix }, "sessions are asked for an hour instead of the duration that is annotated");
  }

  /** `error` null: it succeeded again. An open circuit, which has its own line, is not said again for each role. */
  refresh(session: { readonly key: string; readonly roleARN: string }, error: unknown): void {
    const { key, roleARN } = session;
    if (error === null) {
      if (this.#failing.delete(key)) this.#log.info({ role_arn: roleARN }, "session is renewed again");
      return;
    }
    if (error instanceof CircuitOpen) return;
    this.#failing.add(key);
    const [first] = this.#failing;
    if (this.#failing.size > LIMIT && first !== undefined) this.#failing.delete(first);
    const reason = error instanceof ResolverError ? { code: error.code, reason: error.message } : { code: "ERR_INTERNAL" };
    this.#log.warn({ role_arn: roleARN, ...reason }, "session could not be renewed; tried again while it lives");
  }
}

const LIMIT = 1_000;
