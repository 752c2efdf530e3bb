import { ResolverError } from "../shared/decisions/errors.ts";
import type { SettingsFor } from "../shared/decisions/settings.ts";
import { ManifestSource } from "../shared/inventory/manifests/source.ts";
import type { InventorySource } from "../shared/inventory/source.ts";
import type { Logger } from "../shared/server/logger.ts";
import { type Drain, stopOnSignals } from "../shared/server/stopping.ts";
import type { IO } from "./io.ts";

type SourceSettings = Pick<SettingsFor<"webhook">, "from" | "cluster" | "kubeconfig" | "context" | "runtime" | "mode" | "ackSystemNamespace">
  & Partial<Pick<SettingsFor<"webhook">, "extraGroups">>;

/**
 * The source that a server is told to read. What talks to a cluster is loaded only for one. Of a cluster the sidecar holds, and may
 * read, as little as it needs; the webhook holds all that checks look at, and in mode `carm` neither is loaded without the maps.
 */
export async function openSource(command: "webhook" | "sidecar", settings: SourceSettings): Promise<InventorySource> {
  const { from, cluster, kubeconfig, context, runtime, mode, ackSystemNamespace, extraGroups = [] } = settings;
  if (!cluster) return new ManifestSource(from, { runtime });
  const [{ ClusterSource }, { connectKubernetes }] = await Promise.all([
    import("../shared/inventory/cluster/source.ts"), import("../shared/inventory/cluster/kubeconfig.ts"),
  ]);
  const isAwaited = mode === "carm";
  return new ClusterSource({
    runtime,
    api: await connectKubernetes({ kubeconfig, context }),
    resources: command === "webhook" ? { extraGroups } : undefined,
    carmMaps: command === "webhook" || isAwaited ? { namespace: ackSystemNamespace, isAwaited } : undefined,
  });
}

/**
 * Starts a source whose first view is due before anything is served: bad manifests stop a start, with every fault on stderr.
 * A cluster may be out of reach for a while, so a server listens meanwhile and is not ready.
 */
export async function startSource(source: InventorySource, io: IO): Promise<boolean> {
  if (!(source instanceof ManifestSource)) {
    // It rejects only when it is stopped, and then nobody waits for it any more.
    source.start().catch(() => {});
    return true;
  }
  try {
    await source.start();
    return true;
  } catch (error) {
    if (!(error instanceof ResolverError)) throw error;
    io.stderr.write(`${error.message}\n`);
    return false;
  }
}

export interface Serving {
  readonly log: Logger;
  readonly drain: Drain;
  /** How long requests are still taken after the signal, in ms. */
  readonly drainMs: number;
  readonly close: () => Promise<void>;
  /** How long `close` may take after that, in ms; default as `stopOnSignals` has it. */
  readonly closeMs?: number;
}

/** Serves until a signal ends the process; never resolves. */
export async function serveUntilStopped(serving: Serving): Promise<never> {
  stopOnSignals(serving);
  return await new Promise<never>(() => {});
}
