import { ResolverError } from "../formats/errors.ts";
import type { Inventory } from "../core/inventory.ts";
import type { JsonObject } from "../formats/json.ts";
import { objectReference } from "../formats/object-meta.ts";
import { ClusterSource, type ClusterSourceOptions } from "./cluster-source.ts";

export interface LoadOptions extends Omit<ClusterSourceOptions, "onObject"> {
  /**
   * Returns the object to add to `LoadedCluster.objects`, or null to add none. Receives each object with all its
   * fields.
   */
  readonly collect?: (object: JsonObject) => JsonObject | null;
  /**
   * Called after each object and after each listed kind. For a large cluster, `onProgress` is called several hundred
   * thousand times.
   */
  readonly onProgress?: (progress: LoadProgress) => void;
}

export interface LoadProgress {
  /** The number of kinds found so far. This number increases while CustomResourceDefinitions are listed. */
  readonly kinds: number;
  readonly listed: number;
  readonly objects: number;
}

export interface LoadedCluster {
  /**
   * The inventory contains all objects of known groups and of `extraGroups`. `inventory.unlisted` names the kinds in
   * other groups that could not be listed.
   */
  readonly inventory: Inventory;
  /** The objects that `collect` returned. */
  readonly objects: readonly JsonObject[];
}

/**
 * Reads a cluster once. Resolves when the initial list of each kind has succeeded or failed.
 * @throws ResolverError ERR_CLUSTER_UNREADABLE with the fault of every required kind that cannot be listed.
 */
export async function loadCluster({ collect, onProgress, ...options }: LoadOptions): Promise<LoadedCluster> {
  const collected = new Map<string, JsonObject>();
  let objects = 0;
  const report = (): void => {
    const { kinds, listed } = source.progress;
    onProgress?.({ kinds, listed, objects });
  };
  const onObject = (object: JsonObject): void => {
    objects++;
    const result = collect?.(object) ?? null;
    if (result !== null) collected.set(identityOf(object), result);
    report();
  };
  const source: ClusterSource = new ClusterSource({ ...options, onObject });
  try {
    await waitForLists(source, report);
    if (source.status.loaded) return { inventory: source.inventory, objects: [...collected.values()] };
    const reason = source.status.fault ?? "a list is not complete";
    throw new ResolverError("ERR_CLUSTER_UNREADABLE", `The cluster cannot be read: ${reason}.`);
  } finally {
    await source.stop();
  }
}

/** Starts the source. Resolves when the initial list of each kind has succeeded or failed. */
async function waitForLists(source: ClusterSource, report: () => void): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const unsubscribe = source.onChange(() => {
    report();
    const { kinds, listed, faulty } = source.progress;
    if (listed + faulty >= kinds) resolve();
  });
  // Ignores the rejection that `stop` causes.
  source.start().catch(() => undefined);
  await promise;
  unsubscribe();
}

/**
 * Returns a key with which the caller removes duplicates of a collected object: a repeated list reports its objects
 * again.
 */
function identityOf(object: JsonObject): string {
  const { group, kind, namespace, name } = objectReference(object);
  return `${group}/${kind}/${namespace}/${name}`;
}
