import { type NoticedSettings, startNotices } from "../shared/contract/removed-settings.ts";
import type { SettingsFor } from "../shared/contract/settings.ts";
import { ResolverError } from "../shared/formats/errors.ts";
import { servesIdentities } from "../shared/resolution/grant-by-identity.ts";
import type { Logger } from "../shared/server/logger.ts";
import { type Drain, stopOnSignals } from "../shared/server/stopping.ts";
import { ManifestSource } from "../shared/sources/file-source.ts";
import type { InventorySource } from "../shared/sources/source.ts";
import { type IO, writeLines } from "./io.ts";

/** Writes the warnings about the settings of a command to stderr. */
export function writeStartNotices(settings: NoticedSettings, io: IO): void {
  writeLines(io.stderr, startNotices(settings).map((notice) => `warning: ${notice}`));
}

type WebhookSettings = SettingsFor<"webhook">;
type SourceSettings =
  & Pick<
    WebhookSettings, "from" | "cluster" | "kubeconfig" | "context" | "runtime" | "mode" | "ackSystemNamespace"
  >
  & Partial<Pick<WebhookSettings, "extraGroups" | "identitySecretNamespace">>
  & Partial<Pick<SettingsFor<"sidecar">, "group">>;

/**
 * Returns the inventory source of a server. The Kubernetes client is loaded only with --cluster. The source of the
 * webhook lists every kind that the checks need. The source of the sidecar does not read ACK resources, because the
 * ClusterRole of the sidecar does not allow this. It reads CAPA identities only if the sidecar serves them. With --mode
 * carm, a server is ready only after the CARM ConfigMaps are loaded.
 */
export async function openSource(command: "webhook" | "sidecar", settings: SourceSettings): Promise<InventorySource> {
  const { from, cluster, kubeconfig, context, runtime, mode, ackSystemNamespace } = settings;
  const { extraGroups = [], group: groups = [], identitySecretNamespace = null } = settings;
  if (!cluster) return new ManifestSource(from, { runtime });
  const [{ ClusterSource }, { connectKubernetes }] = await Promise.all([
    import("../shared/sources/cluster-source.ts"), import("../shared/cluster/kubeconfig.ts"),
  ]);
  const isRequired = mode === "carm";
  return new ClusterSource({
    runtime,
    api: await connectKubernetes({ kubeconfig, context }),
    resources: command === "webhook" ? { extraGroups } : undefined,
    identities: servesIdentities({ groups }),
    // The sidecar watches the Secrets itself, because it also reads their values (sidecar/identities/secrets.ts).
    identitySecretNamespace: command === "webhook" ? identitySecretNamespace : null,
    carmMaps: command === "webhook" || isRequired ? { namespace: ackSystemNamespace, isRequired } : undefined,
  });
}

/**
 * Starts a source and returns whether the server may start. If the manifests are invalid, prints their faults to stderr
 * and returns false. If the cluster is unreachable, returns true, because the server can start unready.
 */
export async function startSource(source: InventorySource, io: IO): Promise<boolean> {
  if (!(source instanceof ManifestSource)) {
    // The start of a cluster source rejects only if the source is stopped before it is loaded.
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

interface Serving {
  readonly log: Logger;
  readonly drain: Drain;
  /** The maximum time for which the server accepts requests after the signal, in ms. */
  readonly drainMs: number;
  readonly close: () => Promise<void>;
  /** Time limit of `close`, in ms. Default: the default of `stopOnSignals`. */
  readonly closeMs?: number;
}

/** Stops the server when a signal arrives. The promise never resolves, because the process exits first. */
export async function serveUntilStopped(serving: Serving): Promise<never> {
  stopOnSignals(serving);
  return await new Promise<never>(() => {});
}
