import { ResolverError } from "../../decisions/errors.ts";
import type { Inventory } from "../../decisions/inventory/inventory.ts";
import type { JsonObject } from "../../decisions/kubernetes/json.ts";
import { objectMeta } from "../../decisions/kubernetes/object-meta.ts";
import { ClusterSource, type ClusterSourceOptions } from "./source.ts";

export interface LoadOptions extends Omit<ClusterSourceOptions, "onObject"> {
  /** Is given each object whole, and returns what to hand back of it beside the inventory: itself, less, or null for nothing. */
  readonly collect?: (object: JsonObject) => JsonObject | null;
  /** Called after each object and each change of what has been listed, so some hundred thousand times on a large cluster. */
  readonly onProgress?: (progress: LoadProgress) => void;
}

export interface LoadProgress {
  /** Kinds found so far; those of AWS resources come with their definitions. */
  readonly kinds: number;
  readonly listed: number;
  readonly objects: number;
}

export interface LoadedCluster {
  /** Complete, but for the kinds of groups that are neither known nor among `extraGroups`: `unlisted` names those that could not be read. */
  readonly inventory: Inventory;
  /** What was collected. */
  readonly objects: readonly JsonObject[];
}

/**
 * Reads a cluster once. Tries each kind until it is listed or there is a fault, and then leaves off.
 * @throws ResolverError ERR_CLUSTER_UNREADABLE with the fault of every kind that could not be read.
 */
export async function loadCluster({ collect, onProgress, ...options }: LoadOptions): Promise<LoadedCluster> {
  const collected = new Map<string, JsonObject>();
  let objects = 0;
  const tell = (): void => onProgress?.({ kinds: source.progress.kinds, listed: source.progress.listed, objects });
  const onObject = (object: JsonObject): void => {
    objects++;
    const kept = collect?.(object) ?? null;
    if (kept !== null) collected.set(identityOf(object), kept);
    tell();
  };
  const source: ClusterSource = new ClusterSource({ ...options, onObject });
  try {
    await settled(source, tell);
    if (source.status.loaded) return { inventory: source.inventory, objects: [...collected.values()] };
    throw new ResolverError("ERR_CLUSTER_UNREADABLE", `the cluster cannot be read: ${source.status.fault ?? "it was not listed"}`);
  } finally {
    await source.stop();
  }
}

/** Resolves when each kind has been listed or has a fault. */
async function settled(source: ClusterSource, tell: () => void): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = source.onChange(() => {
    tell();
    const { kinds, listed, faulty } = source.progress;
    if (listed + faulty >= kinds) resolve();
  });
  // It rejects when it is stopped, and nobody waits for it then.
  source.start().catch(() => undefined);
  await promise;
  end();
}

/** A list that has to be begun again gives its objects again. */
function identityOf(object: JsonObject): string {
  const { group, kind, namespace, name } = objectMeta(object);
  return `${group}/${kind}/${namespace}/${name}`;
}
