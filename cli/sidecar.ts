import type { SettingsFor } from "../shared/core/settings.ts";
import { Drain } from "../shared/server/stopping.ts";
import { runSidecar } from "../sidecar/main.ts";
import { checkSidecarSettings } from "../sidecar/options.ts";
import type { ExitStatus, IO } from "./io.ts";
import { runServer } from "./serve.ts";

/** Time limit of closing, in ms. Requests in flight end within 3 s; slow clients are disconnected after 4 s. */
const CLOSE_MS = 5_000;

/** Runs the sidecar until a signal ends the process. */
export async function runSidecarCommand(settings: SettingsFor<"sidecar">, io: IO): Promise<ExitStatus> {
  // Settings are validated first, so invalid settings are reported even if the manifests are invalid too.
  checkSidecarSettings(settings, io.environment);
  return await runServer("sidecar", settings, io, async (runtime) => {
    const sidecar = await runSidecar(settings, { ...runtime, environment: io.environment });
    return { drain: new Drain(), drainMs: 0, closeMs: CLOSE_MS, close: () => sidecar.close() };
  });
}
