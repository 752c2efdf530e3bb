import type { Server } from "node:https";
import type { ServingPair } from "../certs/read.ts";
import { CertificateWatch } from "../certs/watch.ts";
import type { Logger } from "../shared/server/logger.ts";
import type { WebhookMetrics } from "./metrics.ts";

export interface CertificateReloadOptions {
  readonly server: Server;
  readonly dir: string;
  /** The pair that `server` was made with. */
  readonly pair: ServingPair;
  readonly now: () => Date;
  readonly log: Logger;
  readonly metrics: WebhookMetrics;
}

/** Serves each new pair of the folder to new connections; those that are open go on with the one they began with. */
export class CertificateReload {
  readonly #watch: CertificateWatch;
  #notAfter: Date;

  constructor({ server, dir, pair, now, log, metrics }: CertificateReloadOptions) {
    this.#notAfter = pair.notAfter;
    metrics.certificateExpiry.set(pair.notAfter.getTime() / 1000);
    this.#watch = new CertificateWatch({
      dir,
      current: pair,
      now,
      onPair: ({ cert, key, notAfter }) => {
        // Throws on a pair that OpenSSL does not take, and the one before it is served on.
        server.setSecureContext({ cert, key });
        this.#notAfter = notAfter;
        metrics.certificateExpiry.set(notAfter.getTime() / 1000);
        metrics.certificateReloads.inc({ outcome: "ok" });
        log.info({ dir, not_after: notAfter.toISOString() }, "serving certificate replaced");
      },
      onFault: (err) => {
        metrics.certificateReloads.inc({ outcome: "fault" });
        log.error({ dir, err }, "new certificate refused; the one before is served on");
      },
    });
    this.#watch.start();
  }

  /** The end of the validity of what is served. */
  get notAfter(): Date {
    return this.#notAfter;
  }

  close(): void {
    this.#watch.close();
  }
}
