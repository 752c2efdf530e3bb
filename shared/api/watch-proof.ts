import { type SteadyClock, withTimeout } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";

/**
 * The maximum time that a caller waits for a proof, in ms. The API server gives a review 3 s by default. Under load, it
 * can answer later than this, and later reviews then use the answer.
 */
const WAIT_MS = 2_300;

/** The longest time without a question, in ms, so that a wrong Retry-After does not stop every decision. */
const MAX_QUIET_MS = 10_000;

/**
 * The time up to which the API server has proven that a watch missed nothing, and the callers that wait for a proof.
 * Only an answer to a request is a proof: a list, or the end of a watch that the API server was asked to end. An event
 * or a bookmark can be old when it arrives, and silence proves nothing, because a stalled connection is silent too.
 */
export class WatchProof {
  readonly #clock: Pick<SteadyClock, "steady" | "schedule">;
  readonly #renewMs: number;
  #provenMs = -Infinity;
  #quietUntilMs = -Infinity;
  #asked: PromiseWithResolvers<void> | null = null;

  /** `hasHeartbeat` tells whether proofs come without being asked for. */
  constructor(clock: Pick<SteadyClock, "steady" | "schedule">, hasHeartbeat: boolean) {
    this.#clock = clock;
    this.#renewMs = hasHeartbeat ? LIMITS.watchProofMs.value : LIMITS.watchProofMs.value / 2;
  }

  /** Whether a caller waits for a proof. */
  get isAsked(): boolean {
    return this.#asked !== null;
  }

  /** Whether an overloaded API server asked to wait (Retry-After). Each review could otherwise cause a request. */
  get #isQuiet(): boolean {
    return this.#clock.steady() < this.#quietUntilMs;
  }

  /** Whether the proof is recent enough for a decision. */
  get isCurrent(): boolean {
    return this.#ageMs() <= LIMITS.watchProofMs.value;
  }

  /**
   * Returns whether the proof is recent enough. If not, waits for the next one, for at most `limitMs`, and calls `ask`
   * unless another caller waits already. Also asks if the proof will soon be too old, so that a stream of decisions
   * need not wait.
   */
  async prove(limitMs: number, ask: () => void): Promise<boolean> {
    const { isCurrent } = this;
    if (this.#isQuiet || this.#ageMs() <= this.#renewMs) return isCurrent;
    const isFirst = this.#asked === null;
    this.#asked ??= Promise.withResolvers();
    const { promise } = this.#asked;
    if (isFirst) ask();
    if (isCurrent) return true;
    await withTimeout(this.#clock, Math.min(WAIT_MS, limitMs), promise, () => new Error("timeout")).catch(() => null);
    return this.isCurrent;
  }

  /** Records that the handler has received every change until `provenMs`. */
  record(provenMs: number): void {
    this.#provenMs = Math.max(this.#provenMs, provenMs);
    if (this.#ageMs() <= this.#renewMs) this.end();
  }

  /** Ends the waiting of all callers, for example because the API server returned an error. Asks no more for a time. */
  end(quietMs = 0): void {
    this.#quietUntilMs = this.#clock.steady() + Math.min(quietMs, MAX_QUIET_MS);
    this.#asked?.resolve();
    this.#asked = null;
  }

  #ageMs(): number {
    return this.#clock.steady() - this.#provenMs;
  }
}
