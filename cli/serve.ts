import { SELECTORS } from "../shared/ack/selectors.ts";
import type { KubernetesAPI } from "../shared/api/api.ts";
import { INFRASTRUCTURE_GROUP } from "../shared/core/capa-kinds.ts";
import { checkSeveritiesOf, leftOut } from "../shared/core/context.ts";
import type { SettingsFor } from "../shared/core/settings.ts";
import { ResolverError } from "../shared/formats/errors.ts";
import { createLogger, logInventory, type Logger, logNotices } from "../shared/server/logger.ts";
import { type Drain, stopOnSignals } from "../shared/server/stopping.ts";
import { ManifestSource } from "../shared/sources/file-source.ts";
import type { InventorySource } from "../shared/sources/source.ts";
import { EXIT, type ExitStatus, type IO } from "./io.ts";

type WebhookSettings = SettingsFor<"webhook">;
type SourceSettings =
  & Pick<WebhookSettings, "from" | "runtime" | "mode" | "ackSystemNamespace" | "check" | "profile">
  & Partial<Pick<WebhookSettings, "extraGroups" | "identitySecretNamespace" | "noCapa">>
  & Partial<Pick<SettingsFor<"sidecar">, "group">>;

/**
 * Returns the inventory source of a server; without an API server, its manifests. The source of the webhook lists every
 * kind that the checks need. The source of the sidecar does not read ACK resources, because the ClusterRole of the
 * sidecar does not allow this. It reads CAPA identities only if the sidecar serves them. With --mode carm, a server is
 * ready only after the CARM ConfigMaps are loaded.
 */
async function openSource(
  command: "webhook" | "sidecar", settings: SourceSettings, api: KubernetesAPI | undefined,
): Promise<InventorySource> {
  const { from, runtime, mode, ackSystemNamespace, check, profile, extraGroups = [], group: groups = [] } = settings;
  if (api === undefined) return new ManifestSource(from, { runtime, });
  const { ClusterSource } = await import("../shared/sources/cluster-source.ts");
  const isRequired = mode === "carm";
  const isWebhook = command === "webhook";
  return new ClusterSource({
    runtime, api, resources: isWebhook ? { extraGroups } : undefined,
    without: leftOut(settings),
    hasHeartbeat: isWebhook && await checksRights({ check, profile }),
    identities: groups.includes(INFRASTRUCTURE_GROUP),
    // The sidecar watches the Secrets itself, because it also reads their values (sidecar/capa/access-keys.ts).
    identitySecretNamespace: isWebhook ? settings.identitySecretNamespace ?? null : null,
    carmMaps: isWebhook || isRequired ? { namespace: ackSystemNamespace, isRequired } : undefined,
  });
}

/** Whether reviews check the right to use a role. Loads the checks on demand, because a sidecar does not need them. */
async function checksRights({ check, profile }: Pick<SourceSettings, "check" | "profile">): Promise<boolean> {
  const { needsAccessReviews } = await import("../shared/judges.ts");
  return needsAccessReviews({ checkSeverities: checkSeveritiesOf(check, profile) });
}

/** What a server gets from its command. */
interface ServerRuntime {
  readonly source: InventorySource;
  readonly log: Logger;
  /** Absent if the inventory consists of manifests. */
  readonly api?: KubernetesAPI;
}

/** A server, and how to stop it. */
type RunningServer = Omit<Serving, "log">;

/**
 * Opens the source of a server, starts the server with `start`, and stops both when a signal ends the process. The
 * Kubernetes client is loaded only with --cluster.
 */
export async function runServer(
  command: "webhook" | "sidecar", settings: WebhookSettings | SettingsFor<"sidecar">, io: IO,
  start: (runtime: ServerRuntime) => Promise<RunningServer>,
): Promise<ExitStatus> {
  const log = createLogger({ name: command, level: settings.logLevel });
  logNotices(settings, log);
  const api = settings.cluster ? await connect(settings) : undefined;
  const source = await openSource(command, settings, api);
  if (!(await startSource(source, io))) return EXIT.usage;
  logInventory(source, log, () => source.inventory.of(SELECTORS));
  try {
    const server = await start({ source, log, ...(api !== undefined && { api }) });
    const close = async (): Promise<void> => void (await Promise.all([server.close(), source.stop()]));
    return await serveUntilStopped({ ...server, log, close });
  } catch (error) {
    await source.stop();
    throw error;
  }
}

async function connect(settings: Pick<WebhookSettings, "kubeconfig" | "context">): Promise<KubernetesAPI> {
  const { connectKubernetes } = await import("../shared/api/kubeconfig.ts");
  return await connectKubernetes(settings);
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
