import { Inventory, type InventoryChange } from "../../decisions/inventory/inventory.ts";
import type { JsonObject } from "../../decisions/kubernetes/json.ts";
import { type Clock, systemClock } from "../clock.ts";
import { type InventorySource, Listeners, type SourceStatus } from "../source.ts";
import {
  type FileListing, inputError, listManifestFiles, type ManifestInput, readListing, readStdin, STDIN, type WatchPath,
  watchPath,
} from "./files.ts";
import { identityKey, identityOf, type ObjectIdentity } from "./identity.ts";
import { type InputFault, type Manifest, type ManifestResult, readManifests } from "./reader.ts";

interface ManifestSourceOptions {
  readonly runtime: "ack" | "extended";
  readonly clock?: Clock;
  readonly watch?: WatchPath;
}

/**
 * The interval between checks for changed files, in ms. A change must take effect within 2 s, even if no file event
 * arrives.
 */
const POLL_MS = 1_000;
const DEBOUNCE_MS = 50;

interface LoadedObject {
  readonly object: JsonObject;
  readonly identity: ObjectIdentity;
  /** The object as JSON text, which is compared to detect changes. */
  readonly text: string;
}

interface Snapshot {
  readonly manifests: readonly Manifest[];
  readonly objects: ReadonlyMap<string, LoadedObject>;
}

/**
 * Loads the inventory from files and folders, and reloads changed files. If a file is invalid, the last valid inventory
 * remains in use.
 */
export class ManifestSource implements InventorySource {
  readonly inventory: Inventory;
  readonly #paths: readonly string[];
  readonly #clock: Clock;
  readonly #watch: WatchPath;
  readonly #listeners = new Listeners();
  #status: SourceStatus = { loaded: false, lastSyncMs: null, fault: null };
  #snapshot: Snapshot = { manifests: [], objects: new Map() };
  #faults: readonly InputFault[] = [];
  #fingerprint: string | null = null;
  /** Whether a file event arrived since the last check. */
  #notified = false;
  readonly #input = new CachedInput();
  #stops: (() => void)[] = [];
  #cancelTimer = (): void => undefined;
  #checking: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(paths: readonly string[], { runtime, clock = systemClock, watch = watchPath }: ManifestSourceOptions) {
    this.inventory = new Inventory({ runtime, origin: "file" });
    this.#paths = paths;
    this.#clock = clock;
    this.#watch = watch;
  }

  get status(): SourceStatus {
    return this.#status;
  }

  /** Returns every object of the last valid load in input order. Includes objects whose kind the inventory ignores. */
  get manifests(): readonly Manifest[] {
    return this.#snapshot.manifests;
  }

  async start(): Promise<void> {
    // Starts the watch before the first read, so that no change is missed.
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
    await this.#checking;
  }

  onChange(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  /** Events arrive in bursts. The first event schedules the check, and later events do not delay the check. */
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
    // An event forces a read, because two changes within one tick of the file system's clock have the same fingerprint.
    const notified = this.#notified;
    this.#notified = false;
    const listing = await listManifestFiles(this.#paths);
    const fingerprint = JSON.stringify([listing.files, listing.faults]);
    if (notified || fingerprint !== this.#fingerprint) await this.#load(listing, fingerprint);
    else if (this.#status.fault === null) {
      this.#status = { ...this.#status, lastSyncMs: this.#clock.now() };
    }
    this.#schedule(this.#notified ? DEBOUNCE_MS : POLL_MS);
  }

  async #load(listing: FileListing, fingerprint: string): Promise<void> {
    const { manifests, faults } = await readListing(listing, this.#input);
    this.#input.evictExcept(new Set(listing.files.map(({ path }) => path)));
    this.#fingerprint = fingerprint;
    this.#faults = faults;
    if (faults.length > 0) {
      this.#setFault(inputError(faults).message);
      return;
    }
    const changed = this.#apply(manifests);
    const recovered = this.#status.fault !== null || !this.#status.loaded;
    this.#status = { loaded: true, lastSyncMs: this.#clock.now(), fault: null };
    if (changed || recovered) this.#listeners.notify();
  }

  /**
   * Records the fault. Notifies listeners only if the fault is new, because events of unrelated files also cause a
   * read.
   */
  #setFault(fault: string): void {
    if (fault === this.#status.fault) return;
    this.#status = { ...this.#status, fault };
    this.#listeners.notify();
  }

  #apply(manifests: readonly Manifest[]): boolean {
    const before = this.#snapshot.objects;
    this.#snapshot = snapshotOf(manifests);
    const changes = differences(before, this.#snapshot.objects);
    this.inventory.apply(changes);
    return changes.length > 0;
  }
}

/** Parses only changed texts, because parsing ten thousand objects takes over 2 s. Reads standard input only once. */
class CachedInput implements ManifestInput {
  #results = new Map<string, { readonly text: string; readonly result: ManifestResult }>();
  #stdin: Promise<string> | null = null;

  readonly stdin = (): Promise<string> => (this.#stdin ??= readStdin());

  readonly read = (text: string, file: string): ManifestResult => {
    const last = this.#results.get(file);
    const result = last?.text === text ? last.result : readManifests(text, file);
    this.#results.set(file, { text, result });
    return result;
  };

  evictExcept(files: ReadonlySet<string>): void {
    this.#results = new Map([...this.#results].filter(([file]) => files.has(file)));
  }
}

function snapshotOf(manifests: readonly Manifest[]): Snapshot {
  const objects = new Map<string, LoadedObject>();
  for (const { object } of manifests) {
    const identity = identityOf(object);
    if (identity !== null) objects.set(identityKey(identity), { object, identity, text: JSON.stringify(object) });
  }
  return { manifests, objects };
}

/** Returns the changes between two snapshots. Removals come first. */
function differences(before: Snapshot["objects"], after: Snapshot["objects"]): InventoryChange[] {
  const changes: InventoryChange[] = [];
  for (const [key, { identity }] of before) if (!after.has(key)) changes.push({ type: "remove", ...identity });
  for (const [key, { object, text }] of after)
    if (before.get(key)?.text !== text) changes.push({ type: "put", object });
  return changes;
}
