import type { SkippedCheck } from "../../shared/decisions/checks/run.ts";
import type { DecisionSettings, Origin } from "../../shared/decisions/context.ts";
import { Inventory } from "../../shared/decisions/inventory/inventory.ts";
import type { JsonObject } from "../../shared/decisions/kubernetes/json.ts";
import { objectReference } from "../../shared/decisions/kubernetes/object-meta.ts";
import { compareText, countOf } from "../../shared/decisions/kubernetes/text.ts";
import type { SettingsFor } from "../../shared/decisions/settings.ts";
import { formatInputFault, type InputFault, type Manifest } from "../../shared/inventory/manifests/reader.ts";
import type { SkipCounts } from "../../shared/inventory/manifests/skip.ts";
import { type InputSettings, readInput } from "./input.ts";
import { type IO, writeLines } from "../io.ts";
import { Progress } from "../output/progress.ts";
import { writeStartNotices } from "../output/start-notices.ts";

/** An object and its position in the input. The field `file` is null for an object of a cluster. */
export interface StateObject extends Pick<Manifest, "object" | "lineOf"> {
  readonly file: string | null;
}

/** The current state: the objects of manifests or of a cluster. */
export interface State {
  readonly objects: readonly StateObject[];
  readonly inventory: Inventory;
  readonly origin: Origin;
  /** Faults of the manifests; empty for a cluster. An unreachable cluster is an error, not a fault. */
  readonly faults: readonly InputFault[];
  /** The number of skipped files by reason; empty for a cluster. */
  readonly skippedFiles: SkipCounts;
}

type StateSettings = InputSettings & Pick<
  SettingsFor<"audit">,
  "from" | "cluster" | "kubeconfig" | "context" | "runtime" | "mode" | "ackSystemNamespace" | "extraGroups"
> & Partial<Pick<SettingsFor<"audit">, "identitySecretNamespace">>;

/** Returns the skipped checks, sorted by code. */
export function byCode(skipped: readonly SkippedCheck[]): SkippedCheck[] {
  return skipped.toSorted((a, b) => compareText(a.code, b.code));
}

interface ReadOptions {
  /** The command, such as `lint -`, that reads the manifests of --from from standard input. */
  readonly stdinCommand: string;
  /**
   * Whether to read the CARM maps in all namespaces of a cluster, and the FieldExports, because CM-07 and FE-01 check
   * them. Default: false.
   */
  readonly inAllNamespaces?: boolean;
}

/**
 * Reads the state from --from or --cluster.
 * @throws ResolverError if the cluster is unreachable, or denies access to a required kind.
 */
export async function readState(settings: StateSettings, io: IO, options: ReadOptions): Promise<State> {
  writeStartNotices(settings, io);
  return settings.cluster ? await readCluster(settings, io, options) : await readManifestState(settings, io, options);
}

/** Reports CM-07 as skipped if the CARM maps of other namespaces could not be read. */
export function unreadMaps({ inventory, origin }: State, { checkSeverities }: DecisionSettings): SkippedCheck[] {
  if (origin !== "cluster" || inventory.includes("config maps of other namespaces")) return [];
  if (checkSeverities.get("CM-07") === "off") return [];
  return [{ code: "CM-07", needs: "the right to list the CARM maps by name in all namespaces" }];
}

async function readManifestState(settings: StateSettings, io: IO, { stdinCommand }: ReadOptions): Promise<State> {
  const { from, runtime } = settings;
  const { manifests, faults, skippedFiles } = await readInput(from, settings, io, stdinCommand);
  const inventory = inventoryOf(manifests.map(({ object }) => object), { runtime, origin: "file" });
  return { objects: manifests, faults, skippedFiles, origin: "file", inventory };
}

/** Reads the objects of a cluster. Imports the Kubernetes client on demand: `--from` does not need the client. */
async function readCluster(
  settings: StateSettings, io: IO, { inAllNamespaces = false }: ReadOptions,
): Promise<State> {
  const { kubeconfig, context, runtime, mode, ackSystemNamespace, extraGroups, identitySecretNamespace } = settings;
  const [{ loadCluster }, { connectKubernetes }] = await Promise.all([
    import("../../shared/inventory/cluster/load.ts"), import("../../shared/inventory/cluster/kubeconfig.ts"),
  ]);
  const progress = new Progress(io);
  try {
    const { inventory, objects } = await loadCluster({
      runtime, api: await connectKubernetes({ kubeconfig, context }), resources: { extraGroups },
      identitySecretNamespace, fieldExports: inAllNamespaces,
      carmMaps: { namespace: ackSystemNamespace, isRequired: mode === "carm", inAllNamespaces },
      collect: withoutManagedFields,
      onProgress: ({ kinds, listed, objects: seen }) =>
        progress.update(`reading the cluster: ${listed} of ${countOf(kinds, "kind")}, ${countOf(seen, "object")}`),
    });
    progress.clear();
    const collections = ["resources", "identities", "referrers", "secrets"] as const;
    const unlisted = collections.flatMap((one) => [...inventory.unlisted(one)]);
    writeLines(io.stderr, unlisted.map((kind) => `warning: cannot list ${kind}; the result omits its objects`));
    // Kinds are listed concurrently, in an order that varies. The objects are sorted, so that the output is the same in
    // each run.
    const sorted = objects.toSorted(byName).map((object) => ({ object, file: null, lineOf: () => null }));
    return { objects: sorted, inventory, origin: "cluster", faults: [], skippedFiles: {} };
  } finally {
    progress.clear();
  }
}

/**
 * Returns the object without metadata.managedFields, because no check reads this field, which is often a third of the
 * object.
 */
function withoutManagedFields(object: JsonObject): JsonObject {
  const metadata = Object.entries(object["metadata"] ?? {}).filter(([name]) => name !== "managedFields");
  return { ...object, metadata: Object.fromEntries(metadata) };
}

function byName(one: JsonObject, other: JsonObject): number {
  const [a, b] = [objectReference(one), objectReference(other)];
  return compareText(a.group, b.group) || compareText(a.kind, b.kind) || compareText(a.namespace, b.namespace)
    || compareText(a.name, b.name);
}

interface InventoryContext {
  readonly runtime: "ack" | "extended";
  readonly origin: Origin;
}

/** Returns an inventory of the objects. */
export function inventoryOf(objects: readonly JsonObject[], context: InventoryContext): Inventory {
  const inventory = new Inventory(context);
  inventory.apply(objects.map((object) => ({ type: "put", object })));
  return inventory;
}

/**
 * Reports the faults and returns whether any exist. If any exist, the caller must not print roles, because roles that
 * are resolved from incomplete input could be wrong.
 */
export function isUnreadable(faults: readonly InputFault[], io: IO): boolean {
  reportFaults(faults, io);
  return faults.length > 0;
}

/** Writes each fault to stderr as `FILE:LINE: MESSAGE`. */
export function reportFaults(faults: readonly InputFault[], io: IO): void {
  writeLines(io.stderr, faults.map(formatInputFault));
}
