import { makeCertificates } from "../certs/make.ts";
import { type ManagerRuntime, runManager } from "../certs/rotation/run.ts";
import { storeCertificates } from "../certs/certificate-files.ts";
import type { SettingsFor } from "../shared/contract/settings.ts";
import { connectKubernetes } from "../shared/cluster/kubeconfig.ts";
import { createLogger } from "../shared/server/logger.ts";
import { Drain } from "../shared/server/stopping.ts";
import { EXIT, type ExitStatus, type IO, writeLines } from "./io.ts";
import { serveUntilStopped } from "./serve.ts";

/** Writes the certificates and prints their paths, one line each. */
export async function runCertsMake({ dir, host }: SettingsFor<"certs make">, io: IO): Promise<ExitStatus> {
  const certificates = await makeCertificates({ hosts: host, now: new Date() });
  writeLines(io.stdout, await storeCertificates(dir ?? "", certificates));
  return EXIT.fine;
}

/** Maintains the certificate of the webhook until a signal ends the process. Only tests pass `forTests`. */
export async function runCertsManage(
  settings: SettingsFor<"certs manage">, forTests: Pick<ManagerRuntime, "timing"> = {},
): Promise<ExitStatus> {
  const log = createLogger({ name: "certificates", level: settings.logLevel });
  const api = await connectKubernetes(settings);
  const manager = await runManager(settings, { api, log, ...forTests });
  return await serveUntilStopped({ log, drain: new Drain(), drainMs: 0, close: () => manager.close() });
}
