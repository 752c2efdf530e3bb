import { hash, timingSafeEqual } from "node:crypto";
import type { SteadyClock } from "../shared/inventory/clock.ts";

/** How long the token before the last rotation stays good: clients read the file at their own pace. */
const PREVIOUS_TOKEN_MS = 60_000;

/** Compares what a client presents with the token, in the same time whatever it presents. */
export class TokenCheck {
  readonly #clock: SteadyClock;
  #current: Buffer;
  #previous: { readonly digest: Buffer; readonly untilSteadyMs: number } | null = null;

  constructor(token: string, clock: SteadyClock) {
    this.#current = digestOf(token);
    this.#clock = clock;
  }

  accepts(presented: string): boolean {
    // Digests have one length, and the time to compare them tells nothing of the tokens.
    const digest = digestOf(presented);
    const isCurrent = timingSafeEqual(digest, this.#current);
    const previous = this.#previous;
    const isPrevious = timingSafeEqual(digest, previous?.digest ?? NONE) && previous !== null && this.#clock.steady() < previous.untilSteadyMs;
    return isCurrent || isPrevious;
  }

  /** Takes another token over; false when it is the current one. */
  rotate(token: string): boolean {
    const digest = digestOf(token);
    if (digest.equals(this.#current)) return false;
    this.#previous = { digest: this.#current, untilSteadyMs: this.#clock.steady() + PREVIOUS_TOKEN_MS };
    this.#current = digest;
    return true;
  }
}

const NONE = Buffer.alloc(32);

function digestOf(text: string): Buffer {
  return hash("sha256", text, "buffer");
}
