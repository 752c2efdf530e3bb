import { type FSWatcher, watch } from "node:fs";
import { readServingPair, type ServingPair } from "./read.ts";

interface CertificateWatchOptions {
  readonly dir: string;
  /** The pair that is already served. */
  readonly current: ServingPair;
  readonly now: () => Date;
  /** Called with each new valid pair. If it throws, the error is a fault of the pair. */
  readonly onPair: (pair: ServingPair) => void;
  /** Called once for each new fault. The current pair remains in use. */
  readonly onFault: (fault: Error) => void;
}

const POLL_MS = 10_000;
/** The delay from an event to the read, so that both files of a pair are written. */
const SETTLE_MS = 200;

/**
 * Watches a certificate folder with file events and by polling, because either alone misses changes: a kubelet swaps a
 * projected Secret by its `..data` symbolic link, and some file systems send no events.
 */
export class CertificateWatch {
  readonly #options: CertificateWatchOptions;
  #current: ServingPair;
  #lastFault: string | null = null;
  #checking: Promise<void> = Promise.resolve();
  #watcher: FSWatcher | null = null;
  #poll: NodeJS.Timeout | null = null;
  #settling: NodeJS.Timeout | null = null;

  constructor(options: CertificateWatchOptions) {
    this.#options = options;
    this.#current = options.current;
  }

  start(): void {
    this.#poll = setInterval(() => void this.check(), POLL_MS).unref();
    try {
      this.#watcher = watch(this.#options.dir, { persistent: false }, () => this.#settle());
      this.#watcher.on("error", () => this.#watcher?.close());
    } catch {
      // No inotify watch is available, or the file system has no events. Polling continues.
    }
  }

  /** Reads the folder now. Checks are sequential, so that an older result cannot replace a newer one. */
  check(): Promise<void> {
    this.#checking = this.#checking.then(() => this.#reload());
    return this.#checking;
  }

  close(): void {
    this.#watcher?.close();
    for (const timer of [this.#poll, this.#settling]) if (timer !== null) clearTimeout(timer);
  }

  #settle(): void {
    if (this.#settling !== null) clearTimeout(this.#settling);
    this.#settling = setTimeout(() => void this.check(), SETTLE_MS).unref();
  }

  async #reload(): Promise<void> {
    const { dir, now, onPair, onFault } = this.#options;
    try {
      const pair = await readServingPair(dir, now());
      if (pair.cert !== this.#current.cert || pair.key !== this.#current.key) {
        onPair(pair);
        this.#current = pair;
      }
      this.#lastFault = null;
    } catch (error) {
      const fault = error instanceof Error ? error : new Error(String(error));
      if (fault.message !== this.#lastFault) onFault(fault);
      this.#lastFault = fault.message;
    }
  }
}
