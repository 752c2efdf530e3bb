import type { Server } from "node:https";
import { dirname } from "node:path";
import { readServingPair, type ServingPair } from "../certs/read.ts";
import { CertificateWatch } from "../certs/watch.ts";
import type { Logger } from "../shared/server/logger.ts";
import { type AllowedClient, readClientCA } from "./callers.ts";
import type { WebhookMetrics } from "./metrics.ts";

const MS_PER_SECOND = 1000;

export interface CertificateReloadOptions {
  readonly server: Server;
  /** The folder of the serving certificate and key. */
  readonly dir: string;
  /** The certificate and key that `server` currently uses. */
  readonly pair: ServingPair;
  /** The client whose CA `server` already accepts; null if clients need no certificate. */
  readonly client: AllowedClient | null;
  readonly now: () => Date;
  readonly log: Logger;
  readonly metrics: WebhookMetrics;
}

/**
 * Reloads the serving certificate and key, and the CA of client certificates, when a file changes. New connections use
 * the new files. Open connections continue to use the previous files.
 */
export class CertificateReload {
  readonly #server: Server;
  readonly #metrics: WebhookMetrics;
  readonly #log: Logger;
  readonly #watches: readonly { close(): void }[];
  #pair: ServingPair;
  #clientCA: string | null;

  constructor({ server, dir, pair, client, now, log, metrics }: CertificateReloadOptions) {
    this.#server = server;
    this.#metrics = metrics;
    this.#log = log;
    this.#pair = pair;
    this.#clientCA = client?.ca ?? null;
    this.#recordExpiry();
    const servingPair = new CertificateWatch({
      dir, read: () => readServingPair(dir, now()), current: pair,
      onChange: (next) => {
        this.#use(next, this.#clientCA);
        this.#recordExpiry();
        log.info({ dir, not_after: next.notAfter.toISOString() }, "serving certificate replaced");
      },
      onFault: (err) => (
        this.#reject({ dir, err }, "new serving certificate rejected; the previous certificate is still in use")
      ),
    });
    this.#watches = client === null ? [servingPair] : [servingPair, this.#watchCA(client)];
    servingPair.start();
  }

  #watchCA({ file, ca }: AllowedClient): CertificateWatch<string> {
    const watch = new CertificateWatch({
      dir: dirname(file), read: () => readClientCA(file), current: ca,
      onChange: (next) => {
        this.#use(this.#pair, next);
        this.#log.info({ file }, "client CA replaced");
      },
      onFault: (err) => this.#reject({ file, err }, "new client CA rejected; the previous CA is still in use"),
    });
    watch.start();
    return watch;
  }

  /** Throws if OpenSSL rejects a file. The server then continues to use the previous files. */
  #use(pair: ServingPair, clientCA: string | null): void {
    const { cert, key } = pair;
    this.#server.setSecureContext({ cert, key, ...(clientCA !== null && { ca: clientCA }) });
    this.#pair = pair;
    this.#clientCA = clientCA;
    this.#metrics.certificateReloads.inc({ outcome: "ok" });
  }

  #reject(fields: object, message: string): void {
    this.#metrics.certificateReloads.inc({ outcome: "fault" });
    this.#log.error(fields, message);
  }

  #recordExpiry(): void {
    this.#metrics.certificateExpiry.set(this.notAfter.getTime() / MS_PER_SECOND);
  }

  /** The expiry time of the current serving certificate. */
  get notAfter(): Date {
    return this.#pair.notAfter;
  }

  close(): void {
    for (const watch of this.#watches) watch.close();
  }
}
