import { type FSWatcher, watch } from "node:fs";
import { readServingPair, type ServingPair } from "./read.ts";

export interface CertificateWatchOptions {
  readonly dir: string;
  /** The pair that is served already. */
  readonly current: ServingPair;
  readonly now: () => Date;
  /** Called with each new good pair. May throw, which counts as a fault of the pair. */
  readonly onPair: (pair: ServingPair) => void;
  /** Called once for each new fault; the pair before it stays in use. */
  readonly onFault: (fault: Error) => void;
}

const POLL_MS = 10_000;
/** A pair is two files: reading a moment after an event finds both written, and raises no false alarm between them. */
const SETTLE_MS = 200;

/**
 * Watches a folder of certificates by events and by polling, since either alone misses changes: a kubelet swaps a
 * projected Secret by its `..data` symlink, and some file systems send no events.
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
      // Out of inotify watches, or none on this file system: polling goes on.
    }
  }

  /** Reads the folder now. Checks run one after another, so that an older reading never overtakes a newer one. */
  check(): Promise<void> {
    this.#checking = this.#checking.then(() => this.#readAndPass());
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

  async #readAndPass(): Promise<void> {
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
