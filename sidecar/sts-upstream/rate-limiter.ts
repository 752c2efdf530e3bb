import type { SteadyClock } from "../../shared/core/clock.ts";
import { CircuitBreaker, type CircuitState } from "./circuit-breaker.ts";
import { ThrottledSTSError } from "./errors.ts";

/**
 * The maximum number of calls in a second, and in a burst, of one sidecar: a third of the 600 calls/s that STS allows
 * for each account and Region. Other sidecars and programs share this quota, so the rate falls when STS throttles.
 */
const PER_SECOND = { max: 200, min: 10 } as const;
const MAX_IN_FLIGHT = 32;
/** The time in which the rate rises from 0 to its maximum, in ms. */
const RECOVERY_MS = 10_000;
/** The pause after a throttled call, in ms. It doubles if the next calls are throttled too. */
const PAUSE_MS = 100;
/** The number of times in a row that the rate falls before a throttled call is not repeated. */
const MAX_SLOWDOWNS = 5;

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
  /** Numbers the calls in order of arrival. */
  readonly arrival: number;
  readonly isAwaited: () => boolean;
  readonly start: () => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Runs at most 32 calls at a time and 200 calls per second, and allows bursts of one second. Runs calls for waiting
 * clients first, in order of arrival. When STS throttles, pauses, halves the rate and repeats the throttled calls; the
 * rate rises again within 10 s. The calls that STS throttles together halve the rate only once.
 */
export class RateLimiter {
  readonly #clock: SteadyClock;
  /** In order of arrival. */
  readonly #queue: QueuedCall[] = [];
  #arrivals = 0;
  #inFlight = 0;
  #perSecond: number = PER_SECOND.max;
  #tokens: number = PER_SECOND.max;
  #refilledMs: number;
  #slowedMs = -Infinity;
  /** How often the rate fell since STS last responded without throttling. */
  #slowdowns = 0;
  #cancelTimer: (() => void) | null = null;

  constructor(clock: SteadyClock) {
    this.#clock = clock;
    this.#refilledMs = clock.steady();
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get waiting(): number {
    return this.#queue.length;
  }

  /** The time until a call that is queued now starts if each call ends immediately, in ms. */
  get delayMs(): number {
    this.#refill();
    return Math.max(0, ((this.#queue.length + 1 - this.#tokens) * 1000) / this.#perSecond);
  }

  /**
   * Queues the call and runs it, again if STS throttles. Rejects a queued call when its `signal` aborts or when
   * `rejectWaiting` is called, and a throttled call if a lower rate did not help 5 times in a row.
   */
  async run<T>(call: () => Promise<T>, options: CallOptions): Promise<T> {
    const arrival = this.#arrivals++;
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- repeats a throttled call
      await this.#waitInQueue(arrival, options);
      const startedMs = this.#clock.steady();
      try {
        // oxlint-disable-next-line no-await-in-loop -- repeats a throttled call
        const result = await call();
        this.#slowdowns = 0;
        return result;
      } catch (error) {
        if (!this.#isRepeated(error, startedMs)) throw error;
      } finally {
        this.#inFlight -= 1;
        this.#startQueued();
      }
    }
  }

  /** Rejects all queued calls with `reason`. */
  rejectWaiting(reason: unknown): void {
    for (const { reject } of this.#queue.splice(0)) reject(reason);
    this.#startQueued();
  }

  /** Whether to repeat the failed call. Halves the rate, unless it fell after the start of the call. */
  #isRepeated(error: unknown, startedMs: number): boolean {
    if (!(error instanceof ThrottledSTSError)) {
      this.#slowdowns = 0;
      return false;
    }
    if (startedMs > this.#slowedMs) {
      this.#refill();
      this.#slowdowns = Math.min(this.#slowdowns + 1, MAX_SLOWDOWNS);
      this.#slowedMs = this.#clock.steady();
      this.#perSecond = Math.max(PER_SECOND.min, this.#perSecond / 2);
      this.#tokens = 1 - (this.#perSecond * PAUSE_MS * 2 ** (this.#slowdowns - 1)) / 1000;
    }
    return this.#slowdowns < MAX_SLOWDOWNS;
  }

  #waitInQueue(arrival: number, { isAwaited, signal }: CallOptions): Promise<void> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const settle = (how: () => void): void => {
        signal.removeEventListener("abort", cancel);
        const index = this.#queue.indexOf(queued);
        if (index >= 0) this.#queue.splice(index, 1);
        how();
      };
      const cancel = (): void => {
        queued.reject(signal.reason);
        this.#startQueued();
      };
      const queued = {
        arrival, isAwaited, start: () => settle(resolve), reject: (reason: unknown) => settle(() => reject(reason)),
      };
      signal.addEventListener("abort", cancel);
      // A throttled call returns to its place.
      this.#queue.splice(this.#queue.findLastIndex((other) => other.arrival < arrival) + 1, 0, queued);
      this.#startQueued();
    });
  }

  #startQueued(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    this.#refill();
    while (this.#queue.length > 0 && this.#inFlight < MAX_IN_FLIGHT && this.#tokens >= 1) {
      this.#tokens -= 1;
      this.#inFlight += 1;
      this.#next()?.start();
    }
    // Needs no timer if the maximum number of calls is in flight, because the end of a call starts the next call.
    if (this.#queue.length === 0 || this.#inFlight === MAX_IN_FLIGHT) return;
    const waitMs = Math.ceil(((1 - this.#tokens) * 1000) / this.#perSecond);
    this.#cancelTimer = this.#clock.schedule(waitMs, () => this.#startQueued());
  }

  #refill(): void {
    const nowMs = this.#clock.steady();
    const passedMs = nowMs - this.#refilledMs;
    const tokens = this.#tokens + (passedMs * this.#perSecond) / 1000;
    this.#perSecond = Math.min(PER_SECOND.max, this.#perSecond + (passedMs * PER_SECOND.max) / RECOVERY_MS);
    this.#tokens = Math.min(this.#perSecond, tokens);
    this.#refilledMs = nowMs;
  }

  #next(): QueuedCall | undefined {
    return this.#queue.find(({ isAwaited }) => isAwaited()) ?? this.#queue[0];
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

  /**
   * When a request that gets no session now should be repeated, in seconds: when the queue has been worked off, or when
   * an open circuit allows the next call.
   */
  get retryAfterSeconds(): number {
    return Math.max(1, Math.ceil(Math.max(this.#limiter.delayMs, this.#circuit.delayMs) / 1000));
  }

  check(): void {
    this.#circuit.check();
  }

  run<T>(call: () => Promise<T>, options: CallOptions): Promise<T> {
    return this.#circuit.run(() => this.#limiter.run(call, options));
  }
}
