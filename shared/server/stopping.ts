import { setTimeout as delay } from "node:timers/promises";
import closeWithGrace from "close-with-grace";
import type { Logger } from "./logger.ts";

/**
 * Whether this process is shutting down. If it is, servers answer with `Connection: close` and are unready, so that
 * clients move to another replica before the listener closes.
 */
export class Drain {
  #active = false;

  get active(): boolean {
    return this.#active;
  }

  begin(): void {
    this.#active = true;
  }
}

interface StopOptions {
  readonly log: Logger;
  readonly drain: Drain;
  /** How long the server accepts requests after the signal, in ms, until its endpoint is removed from the Service. */
  readonly drainMs: number;
  /** How long `close` may take after the drain, in ms; the process then exits 1. Default: 10 s. */
  readonly closeMs?: number;
  /** Answers the requests in flight, and closes listeners and sources. */
  readonly close: () => Promise<void>;
  /** Replaces the timer of the drain in tests. */
  readonly wait?: (ms: number) => Promise<unknown>;
}

/** Makes the server unready, serves for another `drainMs`, then closes. */
export async function drainAndClose(options: StopOptions): Promise<void> {
  const { log, drain, drainMs, close, wait = delay } = options;
  drain.begin();
  log.info({ drain_ms: drainMs }, "stopping: unready, still answering");
  if (drainMs > 0) await wait(drainMs);
  await close();
  log.info("stopped");
}

/**
 * Stops the program on signals. SIGTERM drains, closes and exits 0; other signals, such as SIGINT from a terminal, skip
 * the drain. A second signal exits 1 immediately. An uncaught error is logged, skips the drain and exits 1, because the
 * state of the process is unknown. Returns a function that removes the signal handlers.
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
