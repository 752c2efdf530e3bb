import { needsAccessReviews } from "../shared/judges.ts";
import { decisionSettings } from "../shared/core/context.ts";
import type { SettingsFor } from "../shared/core/settings.ts";
import { ResolverError } from "../shared/formats/errors.ts";
import { DRAIN_MS, runWebhook } from "../webhook/main.ts";
import type { ExitStatus, IO } from "./io.ts";
import { runServer } from "./serve.ts";

/** Serves admission reviews until a signal ends the process. */
export async function runWebhookCommand(settings: SettingsFor<"webhook">, io: IO): Promise<ExitStatus> {
  // These checks send access reviews.
  if (!settings.cluster && needsAccessReviews(decisionSettings(settings))) {
    throw new ResolverError("ERR_CONFIG_INVALID", "--check, --profile: ACK-09, NS-02 and AC-05 require --cluster");
  }
  return await runServer("webhook", settings, io, async (runtime) => {
    const webhook = await runWebhook(settings, runtime);
    return { drain: webhook.drain, drainMs: DRAIN_MS, close: () => webhook.close() };
  });
}
