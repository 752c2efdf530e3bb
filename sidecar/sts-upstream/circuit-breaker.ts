import { ResolverError } from "../../shared/formats/errors.ts";
import type { SteadyClock } from "../../shared/core/clock.ts";
import {
  CircuitOpenError, RejectedSignerError, RetryableSTSError, STSNotCalledError, ThrottledSTSError,
} from "./errors.ts";

/** `closed`: all calls run. `open`: no call runs. `half-open`: one call runs, to test whether STS has recovered. */
export type CircuitState = "closed" | "open" | "half-open";

interface CircuitOptions {
  readonly clock: SteadyClock;
  readonly onChange?: (state: CircuitState) => void;
}

/** The number of failures in a row after which the circuit opens. Failures of all sessions count. */
const FAILURES = 5;
/** The interval, in ms, at which an open circuit allows one call. */
const PROBE_MS = 5_000;

/**
 * Suspends calls to STS after 5 ERR_STS_UNAVAILABLE failures in a row (unreachable, 5xx), or after one that reports
 * throttling, because the rate limiter has then tried 5 lower rates. STS can then recover, and clients receive an error
 * immediately. A successful call closes the circuit. An STS error about the
 * request also closes the circuit, because STS responded. A failure before the STS call, such as a missing base
 * identity, does not change the state of the circuit.
 */
export class CircuitBreaker {
  readonly #clock: SteadyClock;
  readonly #onChange: (state: CircuitState) => void;
  #state: CircuitState = "closed";
  #failuresInRow = 0;
  #openedMs = 0;
  /** The time of the next probe, on the steady clock. */
  #nextProbeMs = 0;
  #reason = "";

  constructor({ clock, onChange = () => {} }: CircuitOptions) {
    this.#clock = clock;
    this.#onChange = onChange;
  }

  get state(): CircuitState {
    return this.#state;
  }

  /** The time until an open circuit allows a call, in ms; 0 while the circuit is closed. */
  get delayMs(): number {
    return this.#state === "closed" ? 0 : Math.max(0, this.#nextProbeMs - this.#clock.steady());
  }

  /** Runs the call. While the circuit is open, rejects with CircuitOpenError and does not run the call. */
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

  /** Returns the error with which the open circuit rejects calls. */
  openError(): CircuitOpenError {
    const since = new Date(this.#openedMs).toISOString().replace(/\.\d+Z$/, "Z");
    return new CircuitOpenError(
      `STS circuit open since ${since} after ${FAILURES} failures in a row; probing STS every ${PROBE_MS / 1000} s. ` +
        `Last failure: ${this.#reason}`,
    );
  }

  /** Throws CircuitOpenError if `run` would reject a call now. */
  check(): void {
    const isProbeDue = this.#state === "open" && this.#clock.steady() >= this.#nextProbeMs;
    if (this.#state !== "closed" && !isProbeDue) throw this.openError();
  }

  /** Returns true if the call is a probe of STS. Throws if the call must not run. */
  #admit(): boolean {
    this.check();
    if (this.#state === "closed") return false;
    this.#nextProbeMs = this.#clock.steady() + PROBE_MS;
    this.#setState("half-open");
    return true;
  }

  #recordFailure(error: unknown, isProbe: boolean): void {
    const failure = classifyFailure(error);
    if (failure.sts === "up") return this.#close();
    if (failure.sts === "down") this.#reason = failure.reason;
    // If a call that started before the probe has succeeded meanwhile, the circuit is already closed and stays closed.
    if (isProbe && this.#state === "half-open") return this.#setState("open");
    // While the circuit is open, failures of calls that started before it opened do not count.
    if (failure.sts !== "down" || this.#state !== "closed") return;
    this.#countFailures(error instanceof ThrottledSTSError ? FAILURES : 1);
  }

  #countFailures(count: number): void {
    this.#failuresInRow += count;
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

/** Returns `up` or `down` if the failure shows that STS is available or unavailable; otherwise `unknown`. */
function classifyFailure(error: unknown): FailureClass {
  if (!(error instanceof ResolverError) || error instanceof STSNotCalledError) return { sts: "unknown" };
  if (isResponse(error) || isResponse(error.cause)) return { sts: "up" };
  return error.code === "ERR_STS_UNAVAILABLE" ? { sts: "down", reason: error.message } : { sts: "unknown" };
}

/** Whether the error is an error response of STS about a role, a request or a signer. */
function isResponse(error: unknown): boolean {
  if (error instanceof RetryableSTSError || error instanceof RejectedSignerError) return true;
  return error instanceof ResolverError && error.code === "ERR_STS_REFUSED";
}
