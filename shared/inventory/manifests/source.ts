import { Inventory, type InventoryChange } from "../../decisions/inventory/inventory.ts";
import type { JsonObject } from "../../decisions/kubernetes/json.ts";
import { type Clock, systemClock } from "../clock.ts";
import { type InventorySource, Listeners, type SourceStatus } from "../source.ts";
import {
  type FileListing, inputError, listManifestFiles, type Reading, readListed, readStdin, STDIN, type WatchPath,
  watchPath,
} from "./files.ts";
import { identityKey, identityOf, type ObjectIdentity } from "./identity.ts";
import { type InputFault, type Manifest, type ManifestReading, readManifests } from "./reader.ts";

export interface ManifestSourceOptions {
  readonly runtime: "ack" | "extended";
  readonly clock?: Clock;
  readonly watch?: WatchPath;
}

/** Together well under the 2 s in which a change must take effect, whether or not the operating system tells of it. */
const POLL_MS = 1_000;
const DEBOUNCE_MS = 50;

interface Held {
  readonly object: JsonObject;
  readonly identity: ObjectIdentity;
  /** To compare by. */
  readonly text: string;
}

interface View {
  readonly manifests: readonly Manifest[];
  readonly objects: ReadonlyMap<string, Held>;
}

/** The inventory of files and folders, followed as they change. What turns bad leaves the last good view as it is. */
export class ManifestSource implements InventorySource {
  readonly inventory: Inventory;
  readonly #paths: readonly string[];
  readonly #clock: Clock;
  readonly #watch: WatchPath;
  readonly #listeners = new Listeners();
  #status: SourceStatus = { loaded: false, lastSyncMs: null, fault: null };
  #view: View = { manifests: [], objects: new Map() };
  #faults: readonly InputFault[] = [];
  #fingerprint: string | null = null;
  /** Whether the operating system told of a change that was not looked at yet. */
  #told = false;
  readonly #reading = new RememberedReading();
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

  /** Every object of the last good view, those of kinds that the inventory does not take included, in input order. */
  get manifests(): readonly Manifest[] {
    return this.#view.manifests;
  }

  async start(): Promise<void> {
    // Watching begins first, so that no change falls between the reading and the watching.
    const watched = this.#paths.filter((path) => path !== STDIN);
    this.#stops = watched.map((path) => this.#watch(path, () => this.#hear()));
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

  /** Notices come in bursts; the first one sets the time, so that no stream of them can put off the reading. */
  #hear(): void {
    if (this.#told) return;
    this.#told = true;
    this.#schedule(DEBOUNCE_MS);
  }

  #schedule(delayMs: number): void {
    this.#cancelTimer();
    if (this.#stopped) return;
    this.#cancelTimer = this.#clock.schedule(delayMs, () => {
      this.#checking = this.#checking.then(() => this.#check());
    });
  }

  /** Looks at the files, and reads them only when one of them changed. */
  async #check(): Promise<void> {
    // A file changed twice within one tick of the file system's clock looks the same; a notice is believed.
    const told = this.#told;
    this.#told = false;
    const listing = await listManifestFiles(this.#paths);
    const fingerprint = JSON.stringify([listing.files, listing.faults]);
    if (told || fingerprint !== this.#fingerprint) await this.#load(listing, fingerprint);
    else if (this.#status.fault === null) this.#status = { ...this.#status, lastSyncMs: this.#clock.now() };
    this.#schedule(this.#told ? DEBOUNCE_MS : POLL_MS);
  }

  async #load(listing: FileListing, fingerprint: string): Promise<void> {
    const { manifests, faults } = await readListed(listing, this.#reading);
    this.#reading.forgetOthers(new Set(listing.files.map(({ path }) => path)));
    this.#fingerprint = fingerprint;
    this.#faults = faults;
    if (faults.length > 0) {
      this.#turnBad(inputError(faults).message);
      return;
    }
    const changed = this.#apply(manifests);
    const recovered = this.#status.fault !== null || !this.#status.loaded;
    this.#status = { loaded: true, lastSyncMs: this.#clock.now(), fault: null };
    if (changed || recovered) this.#listeners.notify();
  }

  /** Told once: a notice of something else in the folder around makes the same files be read again. */
  #turnBad(fault: string): void {
    if (fault === this.#status.fault) return;
    this.#status = { ...this.#status, fault };
    this.#listeners.notify();
  }

  #apply(manifests: readonly Manifest[]): boolean {
    const before = this.#view.objects;
    this.#view = viewOf(manifests);
    const changes = differences(before, this.#view.objects);
    this.inventory.apply(changes);
    return changes.length > 0;
  }
}

/** Reads anew only the texts that differ from last time's: reading ten thousand objects takes over 2 s. Standard input is read once. */
class RememberedReading implements Reading {
  #readings = new Map<string, { readonly text: string; readonly reading: ManifestReading }>();
  #input: Promise<string> | null = null;

  readonly stdin = (): Promise<string> => (this.#input ??= readStdin());

  readonly read = (text: string, file: string): ManifestReading => {
    const last = this.#readings.get(file);
    const reading = last?.text === text ? last.reading : readManifests(text, file);
    this.#readings.set(file, { text, reading });
    return reading;
  };

  forgetOthers(files: ReadonlySet<string>): void {
    this.#readings = new Map([...this.#readings].filter(([file]) => files.has(file)));
  }
}

function viewOf(manifests: readonly Manifest[]): View {
  const objects = new Map<string, Held>();
  for (const { object } of manifests) {
    const identity = identityOf(object);
    if (identity !== null) objects.set(identityKey(identity), { object, identity, text: JSON.stringify(object) });
  }
  return { manifests, objects };
}

/** What turns one view into the other: removals first. */
function differences(before: View["objects"], after: View["objects"]): InventoryChange[] {
  const changes: InventoryChange[] = [];
  for (const [key, { identity }] of before) if (!after.has(key)) changes.push({ type: "remove", ...identity });
  for (const [key, { object, text }] of after) if (before.get(key)?.text !== text) changes.push({ type: "put", object });
  return changes;
}
