import type { KubernetesAPI } from "../../shared/api/api.ts";
import type { ObjectName } from "../../shared/api/watched-kind.ts";
import type { SteadyClock } from "../../shared/core/clock.ts";
import type { Runtime } from "../../shared/core/context.ts";
import type { Kind } from "../../shared/core/kind.ts";
import { JUDGES } from "../../shared/judges.ts";
import type { Logger } from "../../shared/server/logger.ts";
import type { InventorySource } from "../../shared/sources/source.ts";
import type { FetcherOf } from "../object-fetch.ts";
import { inProcess, PendingList, type PendingStore } from "./list.ts";
import { SharedStore } from "./shared-store.ts";
import { PendingWrites } from "./writes.ts";

export interface PendingPorts {
  readonly source: Pick<InventorySource, "inventory" | "onChange" | "positionOf">;
  readonly clock: SteadyClock;
  /** Default: no object is fetched. */
  readonly fetcherOf?: FetcherOf;
}

/** The pending writes of each kind whose changes can conflict with each other. */
export type PendingByKind = ReadonlyMap<Kind, PendingWrites>;

/** Returns the pending writes of this process, or of all replicas if `share` returns a store that they share. */
export function openPending(
  runtime: Runtime, ports: PendingPorts, share: (list: PendingList) => PendingStore = inProcess,
): PendingByKind {
  const { clock, fetcherOf = () => null } = ports;
  const opened = JUDGES.flatMap(({ kind, review }) => (
    review?.pending === undefined ? [] : [{ of: kind, kind: review.pending(runtime) }]
  ));
  const store = share(new PendingList({ ...ports, kinds: opened.map(({ kind }) => kind) }));
  return new Map(opened.map(({ of, kind }) => (
    [of, new PendingWrites({ store, clock, kind, fetchObject: fetcherOf(kind) })]
  )));
}

interface SharedPorts extends PendingPorts {
  readonly api: KubernetesAPI;
  readonly log: Logger;
}

/** Returns the pending writes of all replicas, which share the ConfigMap, and a function that ends its watch. */
export function openSharedPending(
  runtime: Runtime, configMap: ObjectName, ports: SharedPorts,
): { readonly pending: PendingByKind; readonly close: () => Promise<void> } {
  const closers: (() => Promise<void>)[] = [];
  const pending = openPending(runtime, ports, (list) => {
    const store = new SharedStore({ ...ports, random: Math.random, list, configMap });
    store.start();
    closers.push(() => store.stop());
    return store;
  });
  return { pending, close: async () => void (await Promise.all(closers.map((close) => close()))) };
}
