import { field, type JsonObject, stringMap } from "../../shared/decisions/kubernetes/json.ts";
import { newest } from "../../shared/inventory/cluster/resource-version.ts";
import type { ListedWrite } from "./list.ts";
import { parseWrite, type SharedWrite } from "./write.ts";

/** The prefix of the entries that contain a resource version; the rest of the key is the kind. */
const DELIVERED = "delivered.";

/** The data of the ConfigMap. Each entry is one write, by its ID, or the newest delivered version of a kind. */
export interface SharedData {
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

export const NO_DATA: SharedData = { writes: new Map(), unreadable: new Map(), delivered: new Map() };

/** Reads the data of the ConfigMap. `before` is the previous data. */
export function sharedDataOf(configMap: JsonObject, before: SharedData, nowMs: number): SharedData {
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
export function nextData(
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
