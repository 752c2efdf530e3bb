import { setTimeout as delay } from "node:timers/promises";
import closeWithGrace from "close-with-grace";
import type { Logger } from "./logger.ts";

/**
 * Whether this process is shutting down. During shutdown, servers are unready and send `Connection: close` with each
 * response. So clients connect to another replica before the listener closes.
 */
export class Drain {
  readonly #nowMs: () => number;
  #active = false;
  #quietSinceMs = 0;

  /** `nowMs` returns the time of a monotonic clock, in ms. */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  get active(): boolean {
    return this.#active;
  }

  begin(): void {
    this.#active = true;
    this.#quietSinceMs = this.#nowMs();
  }

  /** Records that a request arrived. */
  requestArrived(): void {
    this.#quietSinceMs = this.#nowMs();
  }

  /** Returns the time since the drain began or the last request arrived, in ms. */
  get quietMs(): number {
    return this.#nowMs() - this.#quietSinceMs;
  }
}

/** The time without a new request after which a drain ends, in ms. */
const QUIET_MS = 1_000;

interface StopOptions {
  readonly log: Logger;
  readonly drain: Drain;
  /**
   * The maximum time for which the server accepts requests after the signal, in ms. The server stops accepting requests
   * earlier if no request arrives for 1 s.
   */
  readonly drainMs: number;
  /** The timeout of `close`, in ms. If `close` takes longer, the process exits with status 1. Default: 10 s. */
  readonly closeMs?: number;
  /** Closes the listeners and sources. Resolves when they are closed and all requests in flight are answered. */
  readonly close: () => Promise<void>;
  /** Waits for `ms` milliseconds. Tests replace this function. */
  readonly wait?: (ms: number) => Promise<unknown>;
}

/**
 * Makes the server unready, and lets the server accept requests until no request arrives for 1 s, but at most for
 * `drainMs`. Then calls `close`.
 */
export async function drainAndClose(options: StopOptions): Promise<void> {
  const { log, drain, drainMs, close, wait = delay } = options;
  drain.begin();
  log.info({ drain_ms: drainMs }, "stopping: the server is unready but still accepts requests");
  let leftMs = drainMs;
  while (leftMs > 0 && drain.quietMs < QUIET_MS) {
    const waitMs = Math.min(leftMs, QUIET_MS - drain.quietMs);
    // The length of the next wait depends on the requests that arrive during this wait.
    // oxlint-disable-next-line no-await-in-loop
    await wait(waitMs);
    leftMs -= waitMs;
  }
  await close();
  log.info("stopped");
}

/**
 * Stops the program on signals. On SIGTERM, the program drains, closes and exits with status 0. On other signals, such
 * as SIGINT from a terminal, the program skips the drain. On a second signal, the program exits with status 1
 * immediately. On an uncaught error, the program logs the error, skips the drain and exits with status 1. The returned
 * function removes the signal handlers.
 */
export function stopOnSignals(options: StopOptions): () => void {
  const { log, drainMs, closeMs = 10_000 } = options;
  const onSignal = async ({ err, signal }: { err?: Error; signal?: string }): Promise<void> => {
    if (err === undefined) log.info({ signal }, "signal received");
    else log.fatal({ err }, "unexpected error; exiting");
    await drainAndClose({ ...options, drainMs: signal === "SIGTERM" ? drainMs : 0 });
  };
  const handlers = closeWithGrace(
    {
      delay: drainMs + closeMs,
      logger: { error: (fault: unknown) => log.error({ err: fault }, "shutdown failed") },
      skip: ["beforeExit", "SIGUSR2"],
      onSecondSignal: (signal) => log.warn({ signal }, "second signal; exiting immediately"),
      onSecondError: (err) => log.fatal({ err }, "unexpected error during shutdown; exiting immediately"),
      onTimeout: (ms) => log.error({ timeout_ms: ms }, "shutdown timed out; exiting"),
    },
    onSignal,
  );
  return () => handlers.uninstall();
}
