import { type FSWatcher, watch } from "node:fs";
import { isDeepStrictEqual } from "node:util";

interface CertificateWatchOptions<Content> {
  /** The folder that contains the files. */
  readonly dir: string;
  /** Reads the files. Rejects if the files are invalid. */
  readonly read: () => Promise<Content>;
  /** The content that the server already uses. */
  readonly current: Content;
  /** Receives each new valid content. If `onChange` throws, the error is reported as a fault. */
  readonly onChange: (content: Content) => void;
  /** Receives each new fault once. The server continues to use the current content. */
  readonly onFault: (fault: Error) => void;
}

const POLL_MS = 10_000;
/** The delay between a file event and the read, in ms, so that the certificate and the key are both written. */
const SETTLE_MS = 200;

/**
 * Watches certificate files in a folder. Uses file events, and also polls the files, because file events can be
 * missing: some file systems send no events, and a kubelet replaces a projected Secret by changing the symbolic link
 * `..data`.
 */
export class CertificateWatch<Content> {
  readonly #options: CertificateWatchOptions<Content>;
  #current: Content;
  #lastFault: string | null = null;
  #checking: Promise<void> = Promise.resolve();
  #watcher: FSWatcher | null = null;
  #poll: NodeJS.Timeout | null = null;
  #settling: NodeJS.Timeout | null = null;

  constructor(options: CertificateWatchOptions<Content>) {
    this.#options = options;
    this.#current = options.current;
  }

  start(): void {
    this.#poll = setInterval(() => void this.check(), POLL_MS).unref();
    try {
      this.#watcher = watch(this.#options.dir, { persistent: false }, () => this.#settle());
      this.#watcher.on("error", () => this.#watcher?.close());
    } catch {
      // Ignores the error: no inotify watch is available, or the file system has no events. Polling still detects
      // changes.
    }
  }

  /** Reads the folder immediately. Reads run in sequence, so that an older result cannot replace a newer result. */
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
    const { read, onChange, onFault } = this.#options;
    try {
      const content = await read();
      if (!isDeepStrictEqual(content, this.#current)) {
        onChange(content);
        this.#current = content;
      }
      this.#lastFault = null;
    } catch (error) {
      const fault = error instanceof Error ? error : new Error(String(error));
      if (fault.message !== this.#lastFault) onFault(fault);
      this.#lastFault = fault.message;
    }
  }
}
