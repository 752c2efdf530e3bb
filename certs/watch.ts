import { type FSWatcher, watch } from "node:fs";
import { readServingPair, type ServingPair } from "./read.ts";

interface CertificateWatchOptions {
  readonly dir: string;
  /** The certificate and key that the server already uses. */
  readonly current: ServingPair;
  readonly now: () => Date;
  /** Receives each new valid certificate and key. If `onPair` throws, the error is reported as a fault. */
  readonly onPair: (pair: ServingPair) => void;
  /** Receives each new fault once. The current certificate and key remain in use. */
  readonly onFault: (fault: Error) => void;
}

const POLL_MS = 10_000;
/** The delay between a file event and the read, in ms, so that the certificate and the key are both written. */
const SETTLE_MS = 200;

/**
 * Watches a certificate folder. Uses file events, and also polls the folder, because file events can be missing: some
 * file systems send no events, and a kubelet replaces a projected Secret by changing the symbolic link `..data`.
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

  /** Reads the folder immediately. Checks run in sequence, so that an older result cannot replace a newer result. */
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
