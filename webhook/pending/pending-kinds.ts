import { IDENTITIES } from "../../shared/capa/identities.ts";
import { SELECTORS } from "../../shared/ack/selectors.ts";
import type { CheckInput } from "../../shared/core/check.ts";
import { judgeSelector } from "../../shared/ack/judge-selector.ts";
import type { SteadyClock } from "../../shared/core/clock.ts";
import type { KubernetesAPI } from "../../shared/api/api.ts";
import type { ObjectName } from "../../shared/api/watched-kind.ts";
import { SELECTOR_KIND } from "../../shared/core/ack-groups.ts";
import { SELECTOR_ANNOTATIONS } from "../../shared/core/annotation-keys.ts";
import { ROLE_IDENTITY } from "../../shared/core/capa-kinds.ts";
import type { Runtime } from "../../shared/core/context.ts";
import { field, type JsonObject } from "../../shared/formats/json.ts";
import { annotationAt } from "../../shared/formats/object-meta.ts";
import type { Inventory } from "../../shared/core/inventory.ts";
import type { EffectiveSelector } from "../../shared/core/effective-selector.ts";
import { readIdentity, type RoleIdentity } from "../../shared/capa/identity.ts";
import { canOverlap } from "../../shared/ack/selector-overlap.ts";
import { differingExtras } from "../../shared/core/session-annotations.ts";
import { identityChain } from "../../shared/capa/identity-chain.ts";
import type { Logger } from "../../shared/server/logger.ts";
import type { InventorySource } from "../../shared/sources/source.ts";
import type { Fetchers } from "../object-fetch.ts";
import { inProcess, type PendingKind, PendingList, type PendingStore } from "./list.ts";
import { SharedStore } from "./shared-store.ts";
import { type PendingWrite, PendingWrites, possibleStates } from "./writes.ts";

/** Without an API server, no object is fetched: the inventory consists of manifests. */
export interface PendingPorts extends Partial<Fetchers> {
  readonly source: Pick<InventorySource, "inventory" | "onChange" | "positionOf">;
  readonly clock: SteadyClock;
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

/** Returns the functions for pending writes of IAMRoleSelectors. A malformed selector has no effect. */
export function selectorWrites(runtime: Runtime): PendingKind<EffectiveSelector> {
  return {
    kind: SELECTOR_KIND,
    stateIn: (inventory, name) => {
      const selectors = inventory.of(SELECTORS);
      return selectors.get(name) ?? selectors.malformed.get(name)?.spec;
    },
    read: (object) => judgeSelector(object, { origin: "cluster", runtime }).effective,
    reduce: (object) => {
      const { apiVersion, kind, metadata, spec } = object;
      const annotations: Record<string, string> = {};
      for (const key of SELECTOR_ANNOTATIONS) {
        const value = annotationAt(object, key);
        if (value !== null) annotations[key] = value;
      }
      return { apiVersion, kind, metadata: { name: field(metadata, "name"), annotations }, spec };
    },
    // Such a selector selects every resource.
    widen: ({ spec, ...object }) => ({ ...object, spec: { arn: field(spec, "arn") } }),
  };
}

/**
 * The selector in a review, before and after the reviewed change. A state is null if the selector does not exist or is
 * malformed.
 */
export interface ReviewedSelector {
  readonly name: string;
  readonly before: EffectiveSelector | null;
  readonly after: EffectiveSelector | null;
}

/** Judges the selector in a review, before and after the reviewed change. */
export function reviewedSelector({ object, old, operation }: CheckInput, runtime: Runtime): ReviewedSelector {
  const context = { origin: "cluster", runtime } as const;
  const { effective, name } = judgeSelector(object, context);
  if (operation === "DELETE") return { name, before: effective, after: null };
  return { name, before: old === null ? null : judgeSelector(old, context).effective, after: effective };
}

/** Whether a pending write of another selector can affect the checks of the selector. */
export function concernsSelector(
  { name, before, after }: ReviewedSelector, write: PendingWrite<EffectiveSelector>, inventory: Inventory,
): boolean {
  if (write.name === name) return false;
  const stored = inventory.of(SELECTORS).get(write.name) ?? null;
  return isRelated(before, write.value) || isRelated(before, stored)
    || isRelated(after, write.value) || isRelated(after, stored);
}

function isRelated(one: EffectiveSelector | null, other: EffectiveSelector | null): boolean {
  return one !== null && other !== null && (differInSession(one, other) || canOverlap(one, other));
}

/** Whether the selectors have the same role, but different session settings (IRS-40). */
function differInSession(one: EffectiveSelector, other: EffectiveSelector): boolean {
  return one.roleARN === other.roleARN && differingExtras(one.extras, other.extras).length > 0;
}

/** Returns the functions for pending writes of AWSClusterRoleIdentities, which can form a cycle. */
export function roleIdentityWrites(runtime: Runtime): PendingKind<RoleIdentity> {
  return {
    kind: ROLE_IDENTITY,
    stateIn: (inventory, name) => inventory.of(IDENTITIES).get({ kind: ROLE_IDENTITY, name }, "") ?? undefined,
    read: (object) => roleIdentityOf(object, runtime),
    reduce: (object) => {
      const { apiVersion, kind, metadata, spec } = object;
      return {
        apiVersion, kind, metadata: { name: field(metadata, "name") },
        spec: { sourceIdentityRef: field(spec, "sourceIdentityRef"), roleARN: field(spec, "roleARN") },
      };
    },
    widen: ({ spec, ...object }) => ({ ...object, spec: { sourceIdentityRef: field(spec, "sourceIdentityRef") } }),
  };
}

/** Returns the role identity, or null if the object is another kind. */
export function roleIdentityOf(object: JsonObject, runtime: Runtime): RoleIdentity | null {
  const identity = readIdentity(object, runtime);
  return identity?.kind === ROLE_IDENTITY ? identity : null;
}

/**
 * Returns the pending writes of the other identities in the chain of the identity, if the chain has a cycle or too many
 * roles when the pending writes take effect. Otherwise, no pending write affects the checks.
 */
export function writesInBrokenChain(
  changed: RoleIdentity, writes: readonly PendingWrite<RoleIdentity>[], inventory: Inventory,
): readonly PendingWrite<RoleIdentity>[] {
  const names = new Set(possibleStates(writes).flatMap(({ writes: pending }) => {
    const { broken, links } = identityChain(inventory, changed, "", { changed, pending });
    const isBroken = broken?.code === "ERR_IDENTITY_CYCLE" || broken?.code === "ERR_IDENTITY_DEPTH";
    return isBroken ? links.map(({ name }) => name) : [];
  }));
  return writes.filter(({ name }) => name !== changed.name && names.has(name));
}
