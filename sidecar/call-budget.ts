import type { SteadyClock } from "../shared/inventory/clock.ts";

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
export class CallBudget {
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
