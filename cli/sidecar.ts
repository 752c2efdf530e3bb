import type { SettingsFor } from "../shared/contract/settings.ts";
import { createLogger, logInventory, logNotices } from "../shared/server/logger.ts";
import { Drain } from "../shared/server/stopping.ts";
import { runSidecar, type SidecarRuntime } from "../sidecar/main.ts";
import { checkSidecarSettings } from "../sidecar/options.ts";
import { EXIT, type ExitStatus, type IO } from "./io.ts";
import { openSource, serveUntilStopped, startSource } from "./serve.ts";

/** Time limit of closing, in ms. Requests in flight end within 900 ms; slow clients are disconnected after 4 s. */
const CLOSE_MS = 5_000;

/** Runs the sidecar until a signal ends the process. */
export async function runSidecarCommand(settings: SettingsFor<"sidecar">, io: IO): Promise<ExitStatus> {
  const log = createLogger({ name: "sidecar", level: settings.logLevel });
  // Settings are validated first, so invalid settings are reported even if the manifests are invalid too.
  checkSidecarSettings(settings, io.environment);
  const source = await openSource("sidecar", settings);
  logNotices(settings, log);
  if (!(await startSource(source, io))) return EXIT.usage;
  logInventory(source, log);
  try {
    const api = await openAPI(settings);
    const sidecar = await runSidecar(settings, { source, environment: io.environment, log, ...api });
    const close = async (): Promise<void> => void (await Promise.all([sidecar.close(), source.stop()]));
    return await serveUntilStopped({ log, drain: new Drain(), drainMs: 0, closeMs: CLOSE_MS, close });
  } catch (error) {
    await source.stop();
    throw error;
  }
}

/** Returns the client with which the sidecar writes Events. The Kubernetes client is loaded only with --cluster. */
async function openAPI(settings: SettingsFor<"sidecar">): Promise<Pick<SidecarRuntime, "api">> {
  if (!settings.cluster) return {};
  const { connectKubernetes } = await import("../shared/cluster/kubeconfig.ts");
  return { api: await connectKubernetes(settings) };
}
