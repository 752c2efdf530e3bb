import type { SteadyClock } from "../../shared/inventory/clock.ts";
import { CircuitBreaker, type CircuitState } from "./circuit-breaker.ts";

/** STS allows 600 calls/s to an account and Region as a whole; this is what one sidecar of many takes of it. */
const MOST_IN_FLIGHT = 8;
const PER_SECOND = 10;
const BURST = 25;

/** One that waits for its turn. */
export interface BudgetedCall {
  /** Whether somebody waits for it, so that it goes before those that only keep something fresh. Asked when there is a turn to give. */
  readonly isAwaited: () => boolean;
  /** Aborts when it is no longer wanted: it loses its turn, with the signal's reason. A call that has started goes on. */
  readonly unwanted: AbortSignal;
}

interface Waiting {
  readonly isAwaited: () => boolean;
  readonly start: () => void;
  readonly refuse: (reason: unknown) => void;
}

/** At most 8 calls in flight and 10 a second, 25 at once after a quiet time; who waits longest goes first. */
export class RateLimiter {
  readonly #clock: SteadyClock;
  readonly #waiting = new Set<Waiting>();
  #inFlight = 0;
  #tokens = BURST;
  #refilledMs: number;
  #cancelTurn: (() => void) | null = null;

  constructor(clock: SteadyClock) {
    this.#clock = clock;
    this.#refilledMs = clock.steady();
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Calls `call` when it has its turn. Rejects with the reason of `unwanted` or of `refuseWaiting` where it never had. */
  async run<T>(call: () => Promise<T>, { isAwaited, unwanted }: BudgetedCall): Promise<T> {
    await this.#turn(isAwaited, unwanted);
    try {
      return await call();
    } finally {
      this.#inFlight -= 1;
      this.#giveTurns();
    }
  }

  /** Every one that waits is refused with `reason`. */
  refuseWaiting(reason: unknown): void {
    for (const { refuse } of this.#waiting) refuse(reason);
    this.#waiting.clear();
    this.#giveTurns();
  }

  #turn(isAwaited: () => boolean, unwanted: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      unwanted.throwIfAborted();
      const settle = (how: () => void): void => {
        unwanted.removeEventListener("abort", leave);
        this.#waiting.delete(waiting);
        how();
      };
      const leave = (): void => {
        waiting.refuse(unwanted.reason);
        this.#giveTurns();
      };
      const waiting = { isAwaited, start: () => settle(resolve), refuse: (reason: unknown) => settle(() => reject(reason)) };
      unwanted.addEventListener("abort", leave);
      this.#waiting.add(waiting);
      this.#giveTurns();
    });
  }

  #giveTurns(): void {
    this.#cancelTurn?.();
    this.#cancelTurn = null;
    this.#refill();
    while (this.#waiting.size > 0 && this.#inFlight < MOST_IN_FLIGHT && this.#tokens >= 1) {
      this.#tokens -= 1;
      this.#inFlight += 1;
      this.#next()?.start();
    }
    // With all in flight the next turn comes when one of them ends.
    if (this.#waiting.size === 0 || this.#inFlight === MOST_IN_FLIGHT) return;
    this.#cancelTurn = this.#clock.schedule(Math.ceil(((1 - this.#tokens) * 1000) / PER_SECOND), () => this.#giveTurns());
  }

  #refill(): void {
    const nowMs = this.#clock.steady();
    this.#tokens = Math.min(BURST, this.#tokens + ((nowMs - this.#refilledMs) * PER_SECOND) / 1000);
    this.#refilledMs = nowMs;
  }

  #next(): Waiting | undefined {
    const [longest] = this.#waiting;
    for (const waiting of this.#waiting) {
      if (waiting.isAwaited()) return waiting;
    }
    return longest;
  }
}

/** What calls of STS go through. */
export interface Gate {
  /** Makes `call` when it may be made. Rejects with NotAsked, or with the reason of `unwanted`, where it never was. */
  run<T>(call: () => Promise<T>, how: BudgetedCall): Promise<T>;
}

/** Lets every call through at once. */
export const OPEN_GATE: Gate = { run: (call) => call() };

export interface CallGateOptions {
  readonly clock: SteadyClock;
  /** `reason`: why it is open; null otherwise. */
  readonly onCircuit?: (state: CircuitState, reason: string | null) => void;
}

/** One circuit and one budget for all the calls of STS that a sidecar makes for roles. */
export class CallGate implements Gate {
  readonly #circuit: CircuitBreaker;
  readonly #budget: RateLimiter;

  constructor({ clock, onCircuit = () => {} }: CallGateOptions) {
    this.#budget = new RateLimiter(clock);
    const onChange = (state: CircuitState): void => {
      // Who waits for a turn must not wait for an STS that is down.
      if (state === "open") this.#budget.refuseWaiting(this.#circuit.refusal());
      onCircuit(state, state === "open" ? this.#circuit.refusal().message : null);
    };
    this.#circuit = new CircuitBreaker({ clock, onChange });
  }

  get circuit(): CircuitState {
    return this.#circuit.state;
  }

  get inFlight(): number {
    return this.#budget.inFlight;
  }

  /** Those that have no turn yet. */
  get waiting(): number {
    return this.#budget.waiting;
  }

  run<T>(call: () => Promise<T>, how: BudgetedCall): Promise<T> {
    return this.#circuit.run(() => this.#budget.run(call, how));
  }
}
