import { ResolverError } from "../../shared/decisions/errors.ts";
import type { SteadyClock } from "../../shared/inventory/clock.ts";
import { UnknownSTSError } from "./errors.ts";

/** `closed`: all calls run; `open`: no call runs; `half-open`: one call runs, to find out whether STS has recovered. */
export type CircuitState = "closed" | "open" | "half-open";

interface CircuitOptions {
  readonly clock: SteadyClock;
  readonly onChange?: (state: CircuitState) => void;
}

/** Failures in a row, of any sessions, that open the circuit. */
const FAILURES = 5;
/** An open circuit lets one call through in this time. */
const PROBE_MS = 5_000;

/** ERR_STS_UNAVAILABLE without a call to STS. It therefore does not show whether STS is available. */
export class STSNotCalledError extends ResolverError {
  constructor(message: string) {
    super("ERR_STS_UNAVAILABLE", message);
  }
}

export class CircuitOpenError extends STSNotCalledError {}

/**
 * Stops calling STS after 5 ERR_STS_UNAVAILABLE failures in a row (unreachable, throttling, 5xx). STS can then recover,
 * and clients receive an error at once. A success closes the circuit. So does an STS error about the request, because
 * STS responded. Failures before the call, such as a missing base identity, do not change the circuit.
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

  /** Runs the call. Rejects with CircuitOpenError without running it while the circuit is open. */
  async run<T>(call: () => Promise<T>): Promise<T> {
    const isProbe = this.#admit();
    try {
      const result = await call();
      this.#close();
      return result;
    } catch (error) {
      this.#recordFailure(error, isProbe);
      throw error;
    }
  }

  /** Returns the error for calls that the open circuit rejects. */
  openError(): CircuitOpenError {
    const since = new Date(this.#openedMs).toISOString().replace(/\.\d+Z$/, "Z");
    return new CircuitOpenError(
      `STS circuit open since ${since} after ${FAILURES} failures in a row; probing STS every ${PROBE_MS / 1000} s. ` +
        `Last failure: ${this.#reason}`,
    );
  }

  /** Returns whether the call is a probe. Throws if the call must not run. */
  #admit(): boolean {
    if (this.#state === "closed") return false;
    if (this.#state === "half-open" || this.#clock.steady() < this.#nextProbeMs) throw this.openError();
    this.#nextProbeMs = this.#clock.steady() + PROBE_MS;
    this.#setState("half-open");
    return true;
  }

  #recordFailure(error: unknown, isProbe: boolean): void {
    const failure = classifyFailure(error);
    if (failure.sts === "up") return this.#close();
    if (failure.sts === "down") this.#reason = failure.reason;
    // An older call may have succeeded and closed the circuit during the probe.
    if (isProbe && this.#state === "half-open") return this.#setState("open");
    // A call that started before the circuit opened does not count.
    if (failure.sts === "down" && this.#state === "closed") this.#countFailure();
  }

  #countFailure(): void {
    this.#failuresInRow += 1;
    if (this.#failuresInRow < FAILURES) return;
    this.#openedMs = this.#clock.now();
    this.#nextProbeMs = this.#clock.steady() + PROBE_MS;
    this.#setState("open");
  }

  #close(): void {
    this.#failuresInRow = 0;
    this.#setState("closed");
  }

  #setState(state: CircuitState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#onChange(state);
  }
}

type FailureClass = { readonly sts: "up" | "unknown" } | { readonly sts: "down"; readonly reason: string };

/** Returns what the failure shows about the availability of STS. */
function classifyFailure(error: unknown): FailureClass {
  if (!(error instanceof ResolverError) || error instanceof STSNotCalledError) return { sts: "unknown" };
  if (error.code === "ERR_STS_REFUSED" || error instanceof UnknownSTSError) return { sts: "up" };
  return error.code === "ERR_STS_UNAVAILABLE" ? { sts: "down", reason: error.message } : { sts: "unknown" };
}
