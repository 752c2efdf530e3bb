import { dirname } from "node:path";
import { readServingPair, type ServingPair } from "../../certs/read.ts";
import { CertificateWatch } from "../../certs/watch.ts";
import type { Logger } from "../../shared/server/logger.ts";
import { type AllowedClient, readClientCA } from "../callers.ts";
import type { WebhookMetrics } from "../metrics.ts";
import type { ServedCertificate } from "./served.ts";

export interface ReloadPorts {
  readonly served: ServedCertificate;
  readonly now: () => Date;
  readonly log: Logger;
  readonly metrics: WebhookMetrics;
}

/** The files of --tls-dir, and the pair that the server already uses. */
interface ServingFiles {
  readonly dir: string;
  readonly pair: ServingPair;
}

/** Reloads the serving certificate and key when a file in the folder changes. Returns a function that stops it. */
export function watchServingFiles({ dir, pair }: ServingFiles, ports: ReloadPorts): () => void {
  const { served, now, log } = ports;
  const logMissingHosts = (): void => {
    const { missingHosts } = served;
    if (missingHosts.length > 0) log.error({ dir, missing_hosts: missingHosts }, MISSING_HOSTS);
  };
  logMissingHosts();
  const watch = new CertificateWatch({
    dir, read: () => readServingPair(dir, now()), current: pair,
    onChange: (next) => {
      served.usePair(next);
      log.info({ dir, not_after: next.notAfter.toISOString() }, "serving certificate replaced");
      logMissingHosts();
    },
    onFault: (err) => (
      reject(ports, { dir, err }, "new serving certificate rejected; the previous certificate is still in use")
    ),
  });
  watch.start();
  return () => watch.close();
}

const MISSING_HOSTS = "the serving certificate is not valid for all names of the webhook: the API server rejects the "
  + "certificate if it calls such a name; create a certificate for the names, or correct --url";

/** Reloads the CA of client certificates when its file changes. Returns a function that stops the reload. */
export function watchClientCA({ file, ca }: AllowedClient, ports: ReloadPorts): () => void {
  const { served, log } = ports;
  const watch = new CertificateWatch({
    dir: dirname(file), read: () => readClientCA(file), current: ca,
    onChange: (next) => {
      served.useClientCA(next);
      log.info({ file }, "client CA replaced");
    },
    onFault: (err) => reject(ports, { file, err }, "new client CA rejected; the previous CA is still in use"),
  });
  watch.start();
  return () => watch.close();
}

function reject({ metrics, log }: ReloadPorts, fields: object, message: string): void {
  metrics.certificateReloads.inc({ outcome: "fault" });
  log.error(fields, message);
}
