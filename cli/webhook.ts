import type { SettingsFor } from "../shared/decisions/settings.ts";
import { createLogger } from "../shared/server/logger.ts";
import { DRAIN_MS, runWebhook } from "../webhook/main.ts";
import { EXIT, type ExitStatus, type IO } from "./io.ts";
import { serveUntilStopped } from "./serve.ts";
import { openSource, startSource } from "./source.ts";

export async function runWebhookCommand(settings: SettingsFor<"webhook">, io: IO): Promise<ExitStatus> {
  const log = createLogger({ name: "webhook", level: settings.logLevel });
  const source = await openSource("webhook", settings);
  if (!(await startSource(source, io))) return EXIT.usage;
  try {
    const webhook = await runWebhook(settings, { source, log });
    const close = async (): Promise<void> => void (await Promise.all([webhook.close(), source.stop()]));
    return await serveUntilStopped({ log, drain: webhook.drain, drainMs: DRAIN_MS, close });
  } catch (error) {
    await source.stop();
    throw error;
  }
}
