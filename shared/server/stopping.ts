import { setTimeout as delay } from "node:timers/promises";
import closeWithGrace from "close-with-grace";
import type { Logger } from "./logger.ts";

/**
 * Whether this process is on its way out. Servers answer with `Connection: close` from then on and readiness is off, so
 * that clients move to another replica before the listener goes.
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

export interface StopOptions {
  readonly log: Logger;
  readonly drain: Drain;
  /** How long requests are still taken after the signal, in ms: the time that endpoints need to be taken out of service. */
  readonly drainMs: number;
  /** How long `close` may take after that, in ms, before the process exits 1. Default 10 s. */
  readonly closeMs?: number;
  /** Closes listeners and sources; answers what is in flight first. */
  readonly close: () => Promise<void>;
  /** The timer of the drain; given in tests. */
  readonly wait?: (ms: number) => Promise<unknown>;
}

/** Turns readiness off, serves on for `drainMs`, then closes. Resolves when all is closed. */
export async function drainAndClose(options: StopOptions): Promise<void> {
  const { log, drain, drainMs, close, wait = delay } = options;
  drain.begin();
  log.info({ drain_ms: drainMs }, "stopping: not ready any more, still answering");
  if (drainMs > 0) await wait(drainMs);
  await close();
  log.info("stopped");
}

/**
 * Stops the program on SIGTERM: drains, closes, exits 0. On other signals, which a person sends from a terminal, it does so
 * without a drain. A second signal exits 1 at once. An error that nobody caught is logged, and the process closes without a
 * drain and exits 1, since its state is not to be trusted.
 * Returns what undoes the signal handlers.
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
      logger: { error: (fault: unknown) => log.error({ err: fault }, "stopping failed") },
      skip: ["beforeExit", "SIGUSR2"],
      onSecondSignal: (signal) => log.warn({ signal }, "second signal; exiting at once"),
      onSecondError: (err) => log.fatal({ err }, "unexpected error while stopping; exiting at once"),
      onTimeout: (ms) => log.error({ timeout_ms: ms }, "stopping took too long; exiting"),
    },
    onSignal,
  );
  return () => handlers.uninstall();
}
