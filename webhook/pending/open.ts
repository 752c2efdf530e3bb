import type { Runtime } from "../../shared/contract/context.ts";
import type { RoleIdentity } from "../../shared/model/identity.ts";
import type { EffectiveSelector } from "../../shared/model/effective-selector.ts";
import type { SteadyClock } from "../../shared/clock.ts";
import type { KubernetesAPI } from "../../shared/cluster/api.ts";
import type { ObjectName } from "../../shared/cluster/watched-kind.ts";
import type { InventorySource } from "../../shared/sources/source.ts";
import type { Logger } from "../../shared/server/logger.ts";
import type { ObjectFetcher } from "../object-fetch.ts";
import { roleIdentityWrites, selectorWrites } from "./pending-kinds.ts";
import { inProcess, PendingList, type PendingStore } from "./list.ts";
import { SharedStore } from "./shared-store.ts";
import { PendingWrites } from "./writes.ts";

export interface PendingPorts {
  readonly source: Pick<InventorySource, "inventory" | "onChange" | "positionOf">;
  readonly clock: Pick<SteadyClock, "schedule">;
  readonly monotonicMs: () => number;
  readonly fetchSelector?: ObjectFetcher;
  readonly fetchRoleIdentity?: ObjectFetcher;
}

/** The pending writes of each kind whose changes can conflict with each other. */
export interface PendingByKind {
  readonly pendingSelectors: PendingWrites<EffectiveSelector>;
  readonly pendingIdentities: PendingWrites<RoleIdentity>;
}

/** Returns the pending writes of this process, or of all replicas if `share` returns a store that they share. */
export function openPending(
  runtime: Runtime, ports: PendingPorts, share: (list: PendingList) => PendingStore = inProcess,
): PendingByKind {
  const { clock, fetchSelector = null, fetchRoleIdentity = null } = ports;
  const [selectors, identities] = [selectorWrites(runtime), roleIdentityWrites(runtime)];
  const store = share(new PendingList({ ...ports, kinds: [selectors, identities] }));
  return {
    pendingSelectors: new PendingWrites({ store, clock, kind: selectors, fetchObject: fetchSelector }),
    pendingIdentities: new PendingWrites({ store, clock, kind: identities, fetchObject: fetchRoleIdentity }),
  };
}

interface SharedPorts extends PendingPorts {
  readonly api: KubernetesAPI;
  readonly clock: SteadyClock;
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
