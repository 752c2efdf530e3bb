import type { Server } from "node:https";
import type { ServingPair } from "../certs/read.ts";
import { CertificateWatch } from "../certs/watch.ts";
import type { Logger } from "../shared/server/logger.ts";
import type { WebhookMetrics } from "./metrics.ts";

const MS_PER_SECOND = 1000;

export interface CertificateReloadOptions {
  readonly server: Server;
  /** The folder of the serving certificate and key. */
  readonly dir: string;
  /** The certificate and key that `server` already serves. */
  readonly pair: ServingPair;
  /** The CA that verifies client certificates. Null if clients need no certificate. */
  readonly clientCA: string | null;
  readonly now: () => Date;
  readonly log: Logger;
  readonly metrics: WebhookMetrics;
}

/**
 * Reloads the serving certificate and key when a file in the folder changes. New connections use the new certificate.
 * Open connections continue to use the previous certificate.
 */
export class CertificateReload {
  readonly #watch: CertificateWatch;
  #notAfter: Date;

  constructor({ server, dir, pair, clientCA, now, log, metrics }: CertificateReloadOptions) {
    this.#notAfter = pair.notAfter;
    metrics.certificateExpiry.set(pair.notAfter.getTime() / MS_PER_SECOND);
    this.#watch = new CertificateWatch({
      dir,
      current: pair,
      now,
      onPair: ({ cert, key, notAfter }) => {
        // Throws if OpenSSL rejects the new certificate or key. The server then continues to use the previous
        // certificate.
        server.setSecureContext({ cert, key, ...(clientCA !== null && { ca: clientCA }) });
        this.#notAfter = notAfter;
        metrics.certificateExpiry.set(notAfter.getTime() / MS_PER_SECOND);
        metrics.certificateReloads.inc({ outcome: "ok" });
        log.info({ dir, not_after: notAfter.toISOString() }, "serving certificate replaced");
      },
      onFault: (err) => {
        metrics.certificateReloads.inc({ outcome: "fault" });
        log.error({ dir, err }, "new serving certificate rejected; the previous certificate is still in use");
      },
    });
    this.#watch.start();
  }

  /** The expiry time of the current serving certificate. */
  get notAfter(): Date {
    return this.#notAfter;
  }

  close(): void {
    this.#watch.close();
  }
}
