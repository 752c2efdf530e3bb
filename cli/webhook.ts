import { needsAccessReviews } from "../shared/checks/access-reviews.ts";
import { decisionSettings } from "../shared/contract/context.ts";
import { ResolverError } from "../shared/formats/errors.ts";
import type { SettingsFor } from "../shared/contract/settings.ts";
import { createLogger, logInventory, logNotices } from "../shared/server/logger.ts";
import { DRAIN_MS, runWebhook, type WebhookRuntime } from "../webhook/main.ts";
import { EXIT, type ExitStatus, type IO } from "./io.ts";
import { openSource, serveUntilStopped, startSource } from "./serve.ts";

/** Serves admission reviews until a signal ends the process. */
export async function runWebhookCommand(settings: SettingsFor<"webhook">, io: IO): Promise<ExitStatus> {
  const log = createLogger({ name: "webhook", level: settings.logLevel });
  logNotices(settings, log);
  const api = await openAPI(settings);
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

/** Returns the client of the API server with --cluster. Some checks send access reviews, which require it. */
async function openAPI(settings: SettingsFor<"webhook">): Promise<Pick<WebhookRuntime, "api">> {
  if (settings.cluster) {
    const { connectKubernetes } = await import("../shared/cluster/kubeconfig.ts");
    return { api: await connectKubernetes(settings) };
  }
  if (!needsAccessReviews(decisionSettings(settings))) return {};
  throw new ResolverError("ERR_CONFIG_INVALID", "--check: ACK-09, NS-02 and AC-05 require --cluster");
}
