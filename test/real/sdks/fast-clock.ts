import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { ServerResponse } from "node:http";
import type { Test } from "tap";
import { field } from "../../../shared/decisions/kubernetes/json.ts";
import { type SteadyClock, systemClock } from "../../../shared/inventory/clock.ts";

/** Waits shorter than this are for an answer on its way, which comes no faster. */
const WAITED_FOR_MS = 10_000;

export interface FastClock extends SteadyClock {
  readonly now: () => number;
  /** For the Go client's CLIENT_CLOCK, so that it has the same time. */
  readonly text: string;
}

/**
 * The time of day from now on, `speed` times as fast: hours of a session's life pass in seconds, and answers take as long as ever. For
 * the rest of the test it is the time of this process too, by which the SDK in the sidecar signs, and that of its servers' answers, by
 * which SDKs correct their own.
 */
export function startFastClock(t: Test, speed: number): FastClock {
  const startMs = Date.now();
  const realNow = Date.now.bind(Date);
  const now = (): number => startMs + (realNow() - startMs) * speed;
  t.intercept(Date, "now", { value: now });
  const setDate = (message: unknown): void => {
    const response = field(message, "response");
    if (response instanceof ServerResponse) response.setHeader("Date", new Date(now()).toUTCString());
  };
  subscribe("http.server.request.start", setDate);
  t.teardown(() => unsubscribe("http.server.request.start", setDate));
  return {
    now,
    steady: now,
    schedule: (delayMs, run) => systemClock.schedule(delayMs < WAITED_FOR_MS ? delayMs : delayMs / speed, run),
    text: `${startMs} ${speed}`,
  };
}
