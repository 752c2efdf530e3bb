import { ResolverError } from "../../shared/decisions/errors.ts";
import type { SteadyClock } from "../../shared/inventory/clock.ts";
import { UnknownRefusal } from "./errors.ts";

/** `closed`: calls go through; `open`: none does; `half-open`: one does, to see whether STS is back. */
export type CircuitState = "closed" | "open" | "half-open";

export interface CircuitOptions {
  readonly clock: SteadyClock;
  readonly onChange?: (state: CircuitState) => void;
}

/** Failures in a row, whatever was asked for, after which STS is taken to be down. */
const FAILURES = 5;
/** One call is let through in this time, to see whether STS is back. */
const PROBE_MS = 5_000;

/** ERR_STS_UNAVAILABLE without STS having been asked, so that it says nothing of STS. */
export class NotAsked extends ResolverError {
  constructor(message: string) {
    super("ERR_STS_UNAVAILABLE", message);
  }
}

export class CircuitOpen extends NotAsked {}

/**
 * Stops calling an STS that has failed ERR_STS_UNAVAILABLE 5 times in a row (unreachable, throttling, 5xx), so that it can recover and
 * callers are refused at once. A refusal is an answer, so it shows that STS is there, as a success does. What fails before STS is asked,
 * such as an identity of our own that cannot be had, says nothing either way.
 */
export class CircuitBreaker {
  readonly #clock: SteadyClock;
  readonly #onChange: (state: CircuitState) => void;
  #state: CircuitState = "closed";
  #failuresInRow = 0;
  #openedMs = 0;
  /** On the steady clock. */
  #nextProbeMs = 0;
  #reason = "";

  constructor({ clock, onChange = () => {} }: CircuitOptions) {
    this.#clock = clock;
    this.#onChange = onChange;
  }

  get state(): CircuitState {
    return this.#state;
  }

  /** Rejects with NotAsked at once, without `call` having been made, while STS is taken to be down. */
  async run<T>(call: () => Promise<T>): Promise<T> {
    const probes = this.#admit();
    try {
      const result = await call();
      this.#close();
      return result;
    } catch (error) {
      this.#judge(error, probes);
      throw error;
    }
  }

  /** What a caller is told while it is open. */
  refusal(): CircuitOpen {
    const since = new Date(this.#openedMs).toISOString().replace(/\.\d+Z$/, "Z");
    return new CircuitOpen(
      `STS is not asked since ${since}, after ${FAILURES} failures in a row, but for one trial each ${PROBE_MS / 1000} s. The last failure: ${this.#reason}`,
    );
  }

  /** Whether the call is the one that tries. */
  #admit(): boolean {
    if (this.#state === "closed") return false;
    if (this.#state === "half-open" || this.#clock.steady() < this.#nextProbeMs) throw this.refusal();
    this.#nextProbeMs = this.#clock.steady() + PROBE_MS;
    this.#become("half-open");
    return true;
  }

  #judge(error: unknown, probes: boolean): void {
    const said = saidOf(error);
    if (said.is === "there") return this.#close();
    if (said.is === "down") this.#reason = said.reason;
    // Closed, if one that was under way for longer has succeeded meanwhile.
    if (probes && this.#state === "half-open") return this.#become("open");
    // One that was under way when the circuit opened says nothing new.
    if (said.is === "down" && this.#state === "closed") this.#countFailure();
  }

  #countFailure(): void {
    this.#failuresInRow += 1;
    if (this.#failuresInRow < FAILURES) return;
    this.#openedMs = this.#clock.now();
    this.#nextProbeMs = this.#clock.steady() + PROBE_MS;
    this.#become("open");
  }

  #close(): void {
    this.#failuresInRow = 0;
    this.#become("closed");
  }

  #become(state: CircuitState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#onChange(state);
  }
}

/** What a failure says of STS. */
function saidOf(error: unknown): { readonly is: "there" | "unknown" } | { readonly is: "down"; readonly reason: string } {
  if (!(error instanceof ResolverError) || error instanceof NotAsked) return { is: "unknown" };
  if (error.code === "ERR_STS_REFUSED" || error instanceof UnknownRefusal) return { is: "there" };
  return error.code === "ERR_STS_UNAVAILABLE" ? { is: "down", reason: error.message } : { is: "unknown" };
}
