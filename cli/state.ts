import { text } from "node:stream/consumers";
import type { Origin } from "../shared/decisions/context.ts";
import { Inventory } from "../shared/decisions/inventory/inventory.ts";
import type { JsonObject } from "../shared/decisions/kubernetes/json.ts";
import { objectMeta } from "../shared/decisions/kubernetes/object-meta.ts";
import { compareText } from "../shared/decisions/kubernetes/text.ts";
import type { SettingsFor } from "../shared/decisions/settings.ts";
import { readManifestPaths } from "../shared/inventory/manifests/files.ts";
import {
  formatInputFault, type InputFault, type Manifest, type ManifestReading,
} from "../shared/inventory/manifests/reader.ts";
import { type IO, writeLines } from "./io.ts";
import { Progress } from "./terminal.ts";

/** Reads the manifests that a command is given, standard input included. */
export async function readInput(paths: readonly string[], io: IO): Promise<ManifestReading> {
  return await readManifestPaths(paths, () => text(io.stdin));
}

export function reportFaults(faults: readonly InputFault[], io: IO): void {
  for (const fault of faults) io.stderr.write(`${formatInputFault(fault)}\n`);
}

/** An object, and where it was written; nowhere when a cluster holds it. */
export interface StateObject extends Pick<Manifest, "object" | "lineOf"> {
  readonly file: string | null;
}

/** What there is: in manifests, or in a cluster. */
export interface State {
  readonly objects: readonly StateObject[];
  readonly inventory: Inventory;
  readonly origin: Origin;
  /** What could not be read of manifests; a cluster that cannot be read is an error instead. */
  readonly faults: readonly InputFault[];
}

export type StateSettings = Pick<SettingsFor<"audit">, "from" | "cluster" | "kubeconfig" | "context" | "runtime" | "mode" | "ackSystemNamespace" | "extraGroups">;

/**
 * Reads all that `--from` or `--cluster` names.
 * @throws ResolverError when the cluster cannot be found, or anything of it may not be read.
 */
export async function readState(settings: StateSettings, io: IO): Promise<State> {
  return settings.cluster ? await readCluster(settings, io) : await readFolder(settings, io);
}

async function readFolder({ from, runtime }: StateSettings, io: IO): Promise<State> {
  const { manifests, faults } = await readInput(from, io);
  return { objects: manifests, faults, origin: "file", inventory: inventoryOf(manifests.map(({ object }) => object), { runtime, origin: "file" }) };
}

/** What talks to a cluster is loaded only for one. */
async function readCluster({ kubeconfig, context, runtime, mode, ackSystemNamespace, extraGroups }: StateSettings, io: IO): Promise<State> {
  const [{ loadCluster }, { connectKubernetes }] = await Promise.all([import("../shared/inventory/cluster/load.ts"), import("../shared/inventory/cluster/kubeconfig.ts")]);
  const progress = new Progress(io.stderr);
  try {
    const { inventory, objects } = await loadCluster({
      runtime, api: await connectKubernetes({ kubeconfig, context }), resources: { extraGroups },
      carmMaps: { namespace: ackSystemNamespace, isAwaited: mode === "carm" },
      collect: withoutManagedFields,
      onProgress: ({ kinds, listed, objects: seen }) => progress.tell(`reading the cluster: ${listed} of ${kinds} kinds, ${seen} objects`),
    });
    progress.end(); // before anything else is written
    for (const kind of inventory.unlisted("resources")) io.stderr.write(`warning: the cluster's ${kind} could not be read, so nothing is said of them\n`);
    // Kinds are listed side by side, and what is printed is to be the same each time.
    return { objects: objects.toSorted(byName).map((object) => ({ object, file: null, lineOf: () => null })), inventory, origin: "cluster", faults: [] };
  } finally {
    progress.end();
  }
}

/** Often a third of an object, and nothing looks at them. */
function withoutManagedFields(object: JsonObject): JsonObject {
  const metadata = Object.entries(object["metadata"] ?? {}).filter(([name]) => name !== "managedFields");
  return { ...object, metadata: Object.fromEntries(metadata) };
}

function byName(one: JsonObject, other: JsonObject): number {
  const [a, b] = [objectMeta(one), objectMeta(other)];
  return compareText(a.group, b.group) || compareText(a.kind, b.kind) || compareText(a.namespace, b.namespace) || compareText(a.name, b.name);
}

export function inventoryOf(objects: readonly JsonObject[], context: { readonly runtime: "ack" | "extended"; readonly origin: Origin }): Inventory {
  const inventory = new Inventory(context);
  inventory.apply(objects.map((object) => ({ type: "put", object })));
  return inventory;
}

/** Whether there are faults, which are then told: half a picture of roles is a wrong one. */
export function isUnreadable(faults: readonly InputFault[], io: IO): boolean {
  writeLines(io.stderr, faults.map(formatInputFault));
  return faults.length > 0;
}
