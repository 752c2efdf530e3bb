import type { SteadyClock } from "../../shared/clock.ts";
import { CircuitBreaker, type CircuitState } from "./circuit-breaker.ts";

/** The limits of one sidecar. STS allows 600 calls/s for each account and Region, which many sidecars share. */
const MAX_IN_FLIGHT = 8;
const PER_SECOND = 10;
const BURST = 25;

export interface CallOptions {
  /**
   * Returns true if a client waits for the call. The rate limiter prefers such a call to background refreshes. The rate
   * limiter calls `isAwaited` each time a call can start.
   */
  readonly isAwaited: () => boolean;
  /**
   * When the signal aborts, a queued call is removed from the queue and rejected with the signal's reason. A call in
   * flight continues.
   */
  readonly signal: AbortSignal;
}

interface QueuedCall {
  readonly isAwaited: () => boolean;
  readonly start: () => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Runs at most 8 calls at a time and 10 calls per second, and allows bursts of 25. Runs calls for waiting clients
 * first, in order of arrival.
 */
export class RateLimiter {
  readonly #clock: SteadyClock;
  readonly #queue = new Set<QueuedCall>();
  #inFlight = 0;
  #tokens = BURST;
  #refilledMs: number;
  #cancelTimer: (() => void) | null = null;

  constructor(clock: SteadyClock) {
    this.#clock = clock;
    this.#refilledMs = clock.steady();
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /** Queues the call and runs it. Rejects a queued call when its `signal` aborts or when `rejectWaiting` is called. */
  async run<T>(call: () => Promise<T>, { isAwaited, signal }: CallOptions): Promise<T> {
    await this.#waitInQueue(isAwaited, signal);
    try {
      return await call();
    } finally {
      this.#inFlight -= 1;
      this.#startQueued();
    }
  }

  /** Rejects all queued calls with `reason`. */
  rejectWaiting(reason: unknown): void {
    for (const { reject } of this.#queue) reject(reason);
    this.#queue.clear();
    this.#startQueued();
  }

  #waitInQueue(isAwaited: () => boolean, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const settle = (how: () => void): void => {
        signal.removeEventListener("abort", cancel);
        this.#queue.delete(queued);
        how();
      };
      const cancel = (): void => {
        queued.reject(signal.reason);
        this.#startQueued();
      };
      const queued = {
        isAwaited, start: () => settle(resolve), reject: (reason: unknown) => settle(() => reject(reason)),
      };
      signal.addEventListener("abort", cancel);
      this.#queue.add(queued);
      this.#startQueued();
    });
  }

  #startQueued(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    this.#refill();
    while (this.#queue.size > 0 && this.#inFlight < MAX_IN_FLIGHT && this.#tokens >= 1) {
      this.#tokens -= 1;
      this.#inFlight += 1;
      this.#next()?.start();
    }
    // Needs no timer if the maximum number of calls is in flight, because the end of a call starts the next call.
    if (this.#queue.size === 0 || this.#inFlight === MAX_IN_FLIGHT) return;
    const waitMs = Math.ceil(((1 - this.#tokens) * 1000) / PER_SECOND);
    this.#cancelTimer = this.#clock.schedule(waitMs, () => this.#startQueued());
  }

  #refill(): void {
    const nowMs = this.#clock.steady();
    this.#tokens = Math.min(BURST, this.#tokens + ((nowMs - this.#refilledMs) * PER_SECOND) / 1000);
    this.#refilledMs = nowMs;
  }

  #next(): QueuedCall | undefined {
    const [oldest] = this.#queue;
    for (const queued of this.#queue) {
      if (queued.isAwaited()) return queued;
    }
    return oldest;
  }
}

/** Controls when a call to STS runs. */
export interface CallGuard {
  /** Throws STSNotCalledError if `run` would reject a call now. */
  check(): void;
  /**
   * Runs the call as soon as the limits allow it. If the call never ran, rejects with STSNotCalledError or with the
   * reason of `signal`.
   */
  run<T>(call: () => Promise<T>, options: CallOptions): Promise<T>;
}

/** Runs every call immediately. */
export const NO_GUARD: CallGuard = { check: () => {}, run: (call) => call() };

interface STSCallGuardOptions {
  readonly clock: SteadyClock;
  /** Called when the circuit changes its state. `reason` is the last failure if the circuit is open; otherwise null. */
  readonly onCircuit?: (state: CircuitState, reason: string | null) => void;
}

/** Applies one circuit breaker and one rate limiter to all AssumeRole calls of a sidecar. */
export class STSCallGuard implements CallGuard {
  readonly #circuit: CircuitBreaker;
  readonly #limiter: RateLimiter;

  constructor({ clock, onCircuit = () => {} }: STSCallGuardOptions) {
    this.#limiter = new RateLimiter(clock);
    const onChange = (state: CircuitState): void => {
      // Rejects queued calls when the circuit opens, so that clients do not wait while STS is unavailable.
      if (state === "open") this.#limiter.rejectWaiting(this.#circuit.openError());
      onCircuit(state, state === "open" ? this.#circuit.openError().message : null);
    };
    this.#circuit = new CircuitBreaker({ clock, onChange });
  }

  get circuit(): CircuitState {
    return this.#circuit.state;
  }

  get inFlight(): number {
    return this.#limiter.inFlight;
  }

  /** The number of queued calls. */
  get waiting(): number {
    return this.#limiter.waiting;
  }

  check(): void {
    this.#circuit.check();
  }

  run<T>(call: () => Promise<T>, options: CallOptions): Promise<T> {
    return this.#circuit.run(() => this.#limiter.run(call, options));
  }
}
