import { INVENTORY_KINDS } from "../kinds.ts";
import { hash } from "node:crypto";
import { type FSWatcher, watch as watchFiles } from "node:fs";
import { basename, dirname } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type SteadyClock, systemClock } from "../core/clock.ts";
import type { Paced } from "../formats/paced.ts";
import { Inventory } from "../core/inventory.ts";
import { duplicateFaults } from "../files/duplicates.ts";
import {
  type FileReading, inputError, type ManifestParser, readFiles, readStdin,
} from "../files/files.ts";
import { generateNames } from "../files/object-key.ts";
import {
  EMPTY_SNAPSHOT, fillInventory, isSameState, LastValidFiles, type Snapshot, snapshotOf,
} from "./file-snapshot.ts";
import { type FileListing, listManifestFiles, STDIN } from "../files/listing.ts";
import type { InputFault, Manifest, ParsedManifests } from "../files/manifest-reader.ts";
import { manifestsOf, ThreadParser } from "../files/thread-parser.ts";
import { runInSlices } from "./slices.ts";
import { ALWAYS_CURRENT, type InventorySource, Listeners, type Proof, type SourceStatus } from "./source.ts";

/** Calls `onEvent` when a file under `path` could have changed. Returns a function that stops the watch. */
type WatchPath = (path: string, onEvent: () => void) => () => void;

/**
 * Watches `path` with file events of the operating system. The caller must also poll. Some file systems send no events,
 * the number of watches is limited, and a watched folder can be replaced.
 */
export const watchPath: WatchPath = (path, onEvent) => {
  const watchers: FSWatcher[] = [];
  const watch = (target: string, recursive: boolean, listener: (type: string, name: string | null) => void): void => {
    try {
      watchers.push(watchFiles(target, { recursive, persistent: false }, listener).on("error", onEvent));
    } catch {
      // Ignores the error, because polling detects the changes.
    }
  };
  watch(path, true, onEvent);
  // Also watches the parent folder, because editors and Kubernetes volumes replace a file by a rename. Ignores the
  // other files there, such as a log that is written all the time: each event makes the source read every manifest.
  watch(dirname(path), false, (_type, name) => {
    if (name === null || name === basename(path) || name.startsWith(VOLUME_LINKS)) onEvent();
  });
  return () => watchers.forEach((watcher) => watcher.close());
};

/** A Kubernetes volume replaces the link `..data`, to which the links of its files point. */
const VOLUME_LINKS = "..";

interface ManifestSourceOptions {
  readonly runtime: "ack" | "extended";
  readonly clock?: SteadyClock;
  readonly watch?: WatchPath;
}

/**
 * The interval between checks for changed files, in ms. A change must take effect within 2 s, even if no file event
 * arrives.
 */
const POLL_MS = 1_000;
const DEBOUNCE_MS = 50;
const NO_MANIFESTS: ParsedManifests = { manifests: [], faults: [], notManifest: null };

/**
 * Loads the inventory from files and folders, and reloads changed files. If a file becomes invalid, its last valid
 * objects remain in use, and changes of all other files still apply. An object that manifests define differently is
 * removed from the inventory, so that no role is granted from it.
 *
 * A load does not block the event loop: a thread parses the files, and a new inventory is built in slices. After that,
 * the new inventory replaces the previous inventory as a whole, so that no request sees a part of a change.
 */
export class ManifestSource implements InventorySource {
  #inventory: Inventory;
  readonly #newInventory: () => Inventory;
  readonly #paths: readonly string[];
  readonly #clock: SteadyClock;
  readonly #watch: WatchPath;
  readonly #listeners = new Listeners();
  #status: SourceStatus = { loaded: false, lastSyncMs: null, fault: null };
  #snapshot: Snapshot = EMPTY_SNAPSHOT;
  readonly #files = new LastValidFiles();
  #faults: readonly InputFault[] = [];
  /**
   * The fingerprint of the listing that was last read. The fingerprint is null if a file could not be read, so that the
   * source reads the files again.
   */
  #fingerprint: string | null = null;
  /** Whether a file event arrived since the last check. */
  #notified = false;
  readonly #input = new CachedInput();
  #stops: (() => void)[] = [];
  #cancelTimer = (): void => undefined;
  #checking: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(paths: readonly string[], options: ManifestSourceOptions) {
    const { runtime, clock = systemClock, watch = watchPath } = options;
    this.#newInventory = () => new Inventory({ runtime, origin: "file" }, INVENTORY_KINDS);
    this.#inventory = this.#newInventory();
    this.#paths = paths;
    this.#clock = clock;
    this.#watch = watch;
  }

  get inventory(): Inventory {
    return this.#inventory;
  }

  get status(): SourceStatus {
    return this.#status;
  }

  /** Returns the manifests of the inventory in input order. Includes objects whose kind the inventory ignores. */
  get manifests(): readonly Manifest[] {
    return this.#snapshot.manifests;
  }

  async start(): Promise<void> {
    // Starts to watch the files before the first read, so that no change is missed.
    const watched = this.#paths.filter((path) => path !== STDIN);
    this.#stops = watched.map((path) => this.#watch(path, () => this.#onFileEvent()));
    this.#checking = this.#check();
    await this.#checking;
    if (this.#status.loaded) return;
    await this.stop();
    throw inputError(this.#faults);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer();
    for (const stop of this.#stops.splice(0)) stop();
    await this.#input.close();
    await this.#checking;
  }

  positionOf(): null {
    return null;
  }

  async prove(): Promise<Proof> {
    return ALWAYS_CURRENT;
  }

  accept(): boolean {
    return false;
  }

  onChange(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  /** File events arrive in bursts. The first event schedules the check, and later events do not delay this check. */
  #onFileEvent(): void {
    if (this.#notified) return;
    this.#notified = true;
    this.#schedule(DEBOUNCE_MS);
  }

  #schedule(delayMs: number): void {
    this.#cancelTimer();
    if (this.#stopped) return;
    this.#cancelTimer = this.#clock.schedule(delayMs, () => {
      this.#checking = this.#checking.then(() => this.#check());
    });
  }

  /** Lists the files. Reads all files if a file changed. */
  async #check(): Promise<void> {
    // A file event forces a read, because two changes within one tick of the file system's clock have the same
    // fingerprint.
    const notified = this.#notified;
    this.#notified = false;
    const listing = await listManifestFiles(this.#paths);
    const fingerprint = JSON.stringify([listing.files, listing.faults]);
    if (notified || fingerprint !== this.#fingerprint) await this.#load(listing, fingerprint);
    else if (this.#status.fault === null) {
      this.#status = { ...this.#status, lastSyncMs: this.#clock.steady() };
    }
    this.#schedule(this.#notified ? DEBOUNCE_MS : POLL_MS);
  }

  async #load(listing: FileListing, fingerprint: string): Promise<void> {
    const readings = await this.#input.readAll(listing);
    const invalid = readings.flatMap((one) => (this.#files.skips(one) ? [] : one.faults));
    const manifests = generateNames(this.#files.update(listing, readings));
    const duplicates = await inSlices(duplicateFaults(manifests));
    const next = await inSlices(snapshotOf(manifests));
    const changed = !isSameState(this.#snapshot, next);
    const inventory = changed ? await inSlices(fillInventory(this.#newInventory(), next)) : this.#inventory;
    // A stop interrupts the parser, so `readings` may be incomplete.
    if (this.#stopped) return;
    this.#fingerprint = readings.some(({ unreadable }) => unreadable) ? null : fingerprint;
    this.#faults = [...listing.faults, ...invalid, ...duplicates];
    this.#use({ snapshot: next, inventory, changed });
  }

  /** Replaces the inventory and the status. */
  #use({ snapshot, inventory, changed }: LoadedState): void {
    const isFirst = !this.#status.loaded;
    const fault = this.#faults.length === 0 ? null : inputError(this.#faults).message;
    if (fault === null) this.#status = { ...this.#status, loaded: true, lastSyncMs: this.#clock.steady() };
    // A fault makes the first load incomplete: an invalid file has no earlier state that could be used instead.
    if (this.#status.loaded) [this.#snapshot, this.#inventory] = [snapshot, inventory];
    const isNewFault = fault !== this.#status.fault;
    this.#status = { ...this.#status, fault };
    if ((changed && this.#status.loaded) || isNewFault || isFirst) this.#listeners.notify();
  }
}

interface LoadedState {
  readonly snapshot: Snapshot;
  readonly inventory: Inventory;
  readonly changed: boolean;
}

/** The maximum time that a load blocks the event loop, in ms. */
const SLICE_MS = 10;

async function inSlices<Result>(steps: Paced<Result>): Promise<Result> {
  return runInSlices(steps, {
    sliceMs: SLICE_MS, clock: systemClock, pause: nextTurn, remainingMs: () => Infinity,
  });
}

/** Parses only changed texts, because parsing ten thousand objects takes over 2 s. Standard input is read only once. */
class CachedInput implements ManifestParser {
  #results = new Map<string, { readonly digest: string; readonly result: ParsedManifests }>();
  #stdin: Promise<string> | null = null;
  #parser: ThreadParser | null = null;

  /** Reads the files of a listing. Stops the parser afterwards, so that its memory is released. */
  async readAll(listing: FileListing): Promise<readonly FileReading[]> {
    this.#parser = new ThreadParser();
    const readings = await readFiles(listing, this);
    await this.close();
    const files = new Set(listing.files.map(({ path }) => path));
    this.#results = new Map([...this.#results].filter(([file]) => files.has(file)));
    return readings;
  }

  readonly stdin = (): Promise<string> => (this.#stdin ??= readStdin());

  readonly read = async (text: string, file: string): Promise<ParsedManifests> => {
    const last = this.#results.get(file);
    // The text is not stored, because it can contain a Secret.
    const digest = hash("sha256", text);
    const result = last?.digest === digest ? last.result : await this.#parse(text, file);
    this.#results.set(file, { digest, result });
    return result;
  };

  async #parse(text: string, file: string): Promise<ParsedManifests> {
    const parsed = await this.#parser?.parse({ text, file });
    return parsed === undefined ? NO_MANIFESTS : inSlices(manifestsOf(parsed, file));
  }

  /** Stops the parser. Files that are not parsed yet get a fault. */
  async close(): Promise<void> {
    await this.#parser?.close();
  }
}
