import { setTimeout as delay } from "node:timers/promises";
import closeWithGrace from "close-with-grace";
import type { Logger } from "./logger.ts";

/**
 * Whether this process is shutting down. During shutdown, servers are unready and send `Connection: close` with each
 * response. Clients then connect to another replica before the listener closes.
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
  /**
   * How long the server accepts requests after a stop signal, in ms. Kubernetes needs this time to remove the endpoint.
   */
  readonly drainMs: number;
  /**
   * The timeout of `close`, in ms. If `close` takes longer than this, the process exits with status 1. Default: 10 s.
   */
  readonly closeMs?: number;
  /** Resolves when requests in flight are answered, and listeners and sources are closed. */
  readonly close: () => Promise<void>;
  /** Waits for `ms` milliseconds. Tests replace this function. */
  readonly wait?: (ms: number) => Promise<unknown>;
}

/** Makes the server unready, waits `drainMs` while the server still accepts requests, then calls `close`. */
export async function drainAndClose(options: StopOptions): Promise<void> {
  const { log, drain, drainMs, close, wait = delay } = options;
  drain.begin();
  log.info({ drain_ms: drainMs }, "stopping: the server is unready but still accepts requests");
  if (drainMs > 0) await wait(drainMs);
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
