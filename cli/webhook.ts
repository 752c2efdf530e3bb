import { needsAccessReviews } from "../shared/checks/access-reviews.ts";
import { decisionSettings } from "../shared/contract/context.ts";
import { ResolverError } from "../shared/formats/errors.ts";
import type { SettingsFor } from "../shared/contract/settings.ts";
import { systemClock } from "../shared/clock.ts";
import { createLogger, type Logger, logInventory, logNotices } from "../shared/server/logger.ts";
import { cachedAccessReviewer } from "../webhook/access-review.ts";
import { DRAIN_MS, runWebhook, type WebhookRuntime } from "../webhook/main.ts";
import { namespaceFetcher, roleIdentityFetcher, selectorFetcher } from "../webhook/object-fetch.ts";
import { EXIT, type ExitStatus, type IO } from "./io.ts";
import { openSource, serveUntilStopped, startSource } from "./serve.ts";

/** Serves admission reviews until a signal ends the process. */
export async function runWebhookCommand(settings: SettingsFor<"webhook">, io: IO): Promise<ExitStatus> {
  const log = createLogger({ name: "webhook", level: settings.logLevel });
  logNotices(settings, log);
  const api = await openAPI(settings, log);
  const source = await openSource("webhook", settings);
  if (!(await startSource(source, io))) return EXIT.usage;
  logInventory(source, log);
  try {
    const webhook = await runWebhook(settings, { source, log, ...api });
    const close = async (): Promise<void> => void (await Promise.all([webhook.close(), source.stop()]));
    return await serveUntilStopped({ log, drain: webhook.drain, drainMs: DRAIN_MS, close });
  } catch (error) {
    await source.stop();
    throw error;
  }
}

/**
 * Returns the functions with which the webhook sends requests to the API server during a review. Access reviews are
 * sent only if a check needs them, and require --cluster.
 */
async function openAPI(
  settings: SettingsFor<"webhook">, log: Logger,
): Promise<Pick<WebhookRuntime, "api" | "reviewAccess" | "fetchSelector" | "fetchNamespace" | "fetchRoleIdentity">> {
  const isReviewed = needsAccessReviews(decisionSettings(settings));
  if (isReviewed && !settings.cluster) {
    throw new ResolverError("ERR_CONFIG_INVALID", "--check: ACK-09, NS-02 and AC-05 require --cluster");
  }
  if (!settings.cluster) return {};
  const { connectKubernetes } = await import("../shared/cluster/kubeconfig.ts");
  const ports = { api: await connectKubernetes(settings), clock: systemClock, log };
  const fetchers = {
    fetchSelector: selectorFetcher(ports), fetchNamespace: namespaceFetcher(ports),
    fetchRoleIdentity: roleIdentityFetcher(ports),
  };
  return { api: ports.api, ...fetchers, ...(isReviewed && { reviewAccess: cachedAccessReviewer(ports) }) };
}
