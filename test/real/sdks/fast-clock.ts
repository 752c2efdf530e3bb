import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { ServerResponse } from "node:http";
import type { Test } from "tap";
import { field } from "../../../shared/formats/json.ts";
import { type SteadyClock, systemClock } from "../../../shared/core/clock.ts";

/** Delays that are shorter than this, in ms, are not sped up, because such delays limit the wait for a response. */
const SHORT_WAIT_MS = 10_000;

interface FastClock extends SteadyClock {
  readonly now: () => number;
  /** The value of the Go client's variable CLIENT_CLOCK, which sets the same time in the client. */
  readonly text: string;
}

/**
 * Returns a clock that runs `speed` times as fast from now on. Hours of a session pass in seconds, but responses take
 * their real time. Until the test ends, the clock also replaces Date.now, with which the sidecar signs. The clock also
 * sets the Date header of all responses, with which SDKs correct their clocks.
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
    schedule: (delayMs, run) => systemClock.schedule(delayMs < SHORT_WAIT_MS ? delayMs : delayMs / speed, run),
    text: `${startMs} ${speed}`,
  };
}
