import { randomUUID } from "node:crypto";
import { sleep } from "../../shared/core/clock.ts";
import type { ClusterPorts } from "../../shared/api/api.ts";
import { Reflector } from "../../shared/api/reflector.ts";
import { rejectionText, sendRequest } from "../../shared/api/send-request.ts";
import { Semaphore } from "../../shared/api/semaphore.ts";
import { isNewer, newest, type ObjectName } from "../../shared/api/watched-kind.ts";
import { LIMITS } from "../../shared/core/limits.ts";
import { errorMessage } from "../../shared/formats/errors.ts";
import { field, isJsonObject, type JsonObject, stringAt, stringMap } from "../../shared/formats/json.ts";
import type { Logger } from "../../shared/server/logger.ts";
import type { InventorySource } from "../../shared/sources/source.ts";
import {
  type Added, type ListedWrite, parseWrite, type PendingList, type PendingStore, type Refusal, type SharedWrite,
} from "./list.ts";

/** The prefix of the entries that contain a resource version; the rest of the key is the kind. */
const DELIVERED = "delivered.";

/** The data of the ConfigMap. Each entry is one write, by its ID, or the newest delivered version of a kind. */
interface SharedData {
  readonly writes: ReadonlyMap<string, SharedWrite>;
  /** The times at which this replica first saw an entry that cannot be read, in ms, by its key. */
  readonly unreadable: ReadonlyMap<string, number>;
  /** For each kind, a resource version up to which each replica must have received the changes. */
  readonly delivered: ReadonlyMap<string, DeliveredVersion>;
}

interface DeliveredVersion {
  readonly version: string;
  /** The time at which this replica first saw the version, in ms. */
  readonly seenMs: number;
}

const NO_DATA: SharedData = { writes: new Map(), unreadable: new Map(), delivered: new Map() };

/** Reads the data of the ConfigMap. `before` is the previous data. */
function sharedDataOf(configMap: JsonObject, before: SharedData, nowMs: number): SharedData {
  const writes = new Map<string, SharedWrite>();
  const unreadable = new Map<string, number>();
  const delivered = new Map<string, DeliveredVersion>();
  for (const [key, text] of stringMap(field(configMap, "data"))) {
    if (key.startsWith(DELIVERED) && /^\d{1,20}$/.test(text)) {
      const known = before.delivered.get(key.slice(DELIVERED.length));
      delivered.set(key.slice(DELIVERED.length), known?.version === text ? known : { version: text, seenMs: nowMs });
      continue;
    }
    const write = before.writes.get(key) ?? parseWrite(text);
    if (write === null) unreadable.set(key, before.unreadable.get(key) ?? nowMs);
    else writes.set(key, write);
  }
  return { writes, unreadable, delivered };
}

interface Step {
  /** The pending writes that remain. */
  readonly kept: readonly ListedWrite[];
  readonly added: readonly [id: string, write: SharedWrite];
  /** For each kind, the newest version that this replica has received of a write. */
  readonly versions: ReadonlyMap<string, string>;
}

/**
 * Returns the data with which a replica replaces the known data. The data lacks the writes that this replica does not
 * list anymore, for example because its watch has delivered them. A replica whose watch is later has to wait for the
 * version of these writes.
 */
function nextData(
  { writes, delivered }: SharedData, { kept, added: [id, write], versions }: Step,
): Record<string, string> {
  const data: Record<string, string> = {};
  const remaining = new Set(kept.map((one) => one.id));
  for (const kind of new Set([...delivered.keys(), ...versions.keys()])) {
    data[DELIVERED + kind] = newest([delivered.get(kind)?.version ?? null, versions.get(kind) ?? null]) ?? "0";
  }
  for (const [key, one] of writes) if (remaining.has(key)) data[key] = JSON.stringify(one);
  data[id] = JSON.stringify(write);
  return data;
}

/** The timeout of one request, in ms. */
const CALL_MS = 1_000;
/** The part of the time of a review that is reserved for its response, in ms. */
const RESERVED_MS = 200;
/** The size limit of a response. The API server limits the data of a ConfigMap to 1 MiB, and JSON escapes extend it. */
const MAX_BYTES = 8 * 1024 * 1024;
/** The maximum number of attempts. Each failed attempt means that another replica stored a change. */
const MAX_ATTEMPTS = 10;
/** The maximum number of reviews that wait for each other. */
const MAX_WAITING = 64;
const POLL_MS = 25;
const CONFLICT = 409;
const RESTORE = "apply the objects of `ack-role-resolver manifests rbac`";

interface SharedStoreOptions extends ClusterPorts {
  readonly log: Logger;
  readonly list: PendingList;
  readonly source: Pick<InventorySource, "positionOf">;
  readonly configMap: ObjectName;
}

/**
 * Shares the pending writes of all replicas in one ConfigMap. A replica stores a write in it before it admits the
 * change, with the resource version of the list with which it has compared the change. If another replica has stored a
 * write meanwhile, the API server rejects the update, and the change is compared again. So of two changes that
 * conflict, the second one always sees the first one. If the ConfigMap cannot be updated, no change is admitted.
 */
export class SharedStore implements PendingStore {
  readonly #options: SharedStoreOptions;
  readonly #reflector: Reflector;
  readonly #turns = new Semaphore(1);
  #waiting = 0;
  /** The last known ConfigMap; undefined if it was never read, null if it does not exist. */
  #object: JsonObject | null | undefined;
  #data: SharedData = NO_DATA;
  /** The IDs of the writes in the known ConfigMap, which the list contains or contained. */
  #seen: ReadonlySet<string> = new Set();

  constructor(options: SharedStoreOptions) {
    const { configMap: object, log } = options;
    this.#options = options;
    this.#reflector = new Reflector({
      ...options,
      kind: {
        group: "", version: "v1", kind: "ConfigMap", plural: "configmaps", object, pageSize: 1,
        transform: (configMap) => configMap,
      },
      handler: {
        onObjects: ([stored], removed) => {
          if (stored?.object) this.#accept(stored.object);
          else if (removed.length > 0 || this.#object === undefined) this.#object = null;
        },
        onSync: () => undefined,
        onFault(fault) {
          if (fault !== null) log.warn({ fault: fault.message }, "pending writes could not be watched");
        },
      },
    });
  }

  get list(): PendingList {
    return this.#options.list;
  }

  start(): void {
    this.#reflector.start();
  }

  async stop(): Promise<void> {
    await this.#reflector.stop();
  }

  async add(write: SharedWrite, isCurrent: () => boolean, remainingMs: () => number): Promise<Added> {
    if (this.#waiting >= MAX_WAITING) return refusal("too many changes are reviewed at the same time");
    this.#waiting += 1;
    try {
      return await this.#turns.run(() => this.#addInTurn(write, isCurrent, () => remainingMs() - RESERVED_MS));
    } catch (error) {
      this.#options.log.warn({ err: error }, "pending write could not be stored");
      return refusal(errorMessage(error));
    } finally {
      this.#waiting -= 1;
    }
  }

  async #addInTurn(write: SharedWrite, isCurrent: () => boolean, remainingMs: () => number): Promise<Added> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS && remainingMs() > 0; attempt++) {
      // Attempts are sequential.
      // oxlint-disable-next-line no-await-in-loop
      if (attempt > 0 || !this.#object) await this.#read(remainingMs());
      // oxlint-disable-next-line no-await-in-loop
      const added = await this.#attempt(write, isCurrent, remainingMs());
      if (added !== "conflict") return added;
    }
    return refusal(remainingMs() > 0 ? "other replicas keep storing changes" : "the time of its review is over");
  }

  /** Adds the write to the known ConfigMap. Resolves to `conflict` if another replica has changed the ConfigMap. */
  async #attempt(write: SharedWrite, isCurrent: () => boolean, limitMs: number): Promise<Added | "conflict"> {
    if (!(await this.#catchUp(limitMs))) return "outdated";
    const refused = this.#unreadable() ?? this.list.excess(write);
    if (refused !== null) return refused;
    if (!isCurrent()) return "outdated";
    return (await this.#write(write, limitMs)) ? "added" : "conflict";
  }

  /** Stores the ConfigMap if it is newer than the known one, and adds its writes to the list. */
  #accept(object: JsonObject): void {
    const known = this.#object ? stringAt(this.#object, "metadata", "resourceVersion") : null;
    if (!isNewer(stringAt(object, "metadata", "resourceVersion"), known)) return;
    this.#object = object;
    const before = this.#data;
    this.#data = sharedDataOf(object, before, this.#options.clock.steady());
    for (const [kind, { version }] of this.#data.delivered) {
      const versions = [before.delivered.get(kind)?.version ?? null, this.list.versions.get(kind) ?? null];
      if (isNewer(version, newest(versions))) this.list.forget();
    }
    for (const [id, write] of this.#data.writes) if (!this.#seen.has(id)) this.list.add(write, id);
    this.#seen = new Set(this.#data.writes.keys());
  }

  /** Lists the ConfigMap, because the watch needs the right to list it anyway. */
  async #read(timeoutMs: number): Promise<void> {
    const { name, namespace } = this.#options.configMap;
    const request = { path: `${this.#collection()}?fieldSelector=metadata.name%3D${name}` };
    const limits = { timeoutMs: Math.min(CALL_MS, timeoutMs), maxBytes: MAX_BYTES };
    const response = await sendRequest(this.#options, request, limits);
    if (response.status !== 200) throw new Error(rejectionText(request, response));
    const items = field(response.object, "items");
    const object: unknown = Array.isArray(items) ? items[0] : null;
    if (!isJsonObject(object)) throw new Error(`ConfigMap ${namespace}/${name} does not exist; ${RESTORE}`);
    this.#accept(object);
  }

  /** Updates the ConfigMap. Returns false if another replica has changed it. */
  async #write(write: SharedWrite, timeoutMs: number): Promise<boolean> {
    const { list } = this;
    const step = { kept: list.without(write), added: [randomUUID(), write], versions: list.versions } as const;
    const data = nextData(this.#data, step);
    const { name } = this.#options.configMap;
    const request = {
      method: "PUT", path: `${this.#collection()}/${name}?fieldManager=ack-role-resolver-webhook`,
      body: JSON.stringify({ ...this.#object, data }),
    } as const;
    const limits = { timeoutMs: Math.min(CALL_MS, timeoutMs), maxBytes: MAX_BYTES };
    const response = await sendRequest(this.#options, request, limits);
    if (response.status === CONFLICT) return false;
    if (response.status !== 200 || response.object === null) throw new Error(rejectionText(request, response));
    this.#accept(response.object);
    return true;
  }

  #collection(): string {
    return `/api/v1/namespaces/${this.#options.configMap.namespace}/configmaps`;
  }

  /**
   * Returns whether the inventory contains each change that another replica has removed from the list because it was
   * delivered. Otherwise, waits for the watch, and returns false, because the change must be compared again.
   */
  async #catchUp(limitMs: number): Promise<boolean> {
    const { clock } = this.#options;
    if (!this.#isBehind()) return true;
    const endMs = clock.steady() + Math.min(CALL_MS, limitMs);
    while (this.#isBehind()) {
      if (clock.steady() >= endMs) throw new Error("the watch of this replica is behind");
      // oxlint-disable-next-line no-await-in-loop
      await sleep(clock, POLL_MS, new AbortController().signal);
    }
    return false;
  }

  #isBehind(): boolean {
    const { source } = this.#options;
    return [...this.#data.delivered].some(([kind, { version, seenMs }]) => {
      const position = source.positionOf(kind);
      // Resource versions can decrease, for example when etcd is restored.
      return position !== null && isNewer(version, position) && !this.#isExpired(seenMs);
    });
  }

  /** Refuses every change while the ConfigMap has an entry that cannot be read, because it may be a pending write. */
  #unreadable(): Refusal | null {
    const seenMs = [...this.#data.unreadable.values()].find((one) => !this.#isExpired(one));
    if (seenMs === undefined) return null;
    const { namespace, name } = this.#options.configMap;
    const retryMs = seenMs + LIMITS.pendingMs.value - this.#options.clock.steady();
    return { reason: `ConfigMap ${namespace}/${name} has an entry that is not a pending write`, retryMs };
  }

  #isExpired(seenMs: number): boolean {
    return this.#options.clock.steady() >= seenMs + LIMITS.pendingMs.value;
  }
}

function refusal(reason: string): Refusal {
  return { reason, retryMs: 0 };
}
