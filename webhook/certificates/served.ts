import type { Server } from "node:https";
import { missingHosts, parseCertificate } from "../../certs/pem.ts";
import type { ServingPair } from "../../certs/read.ts";
import type { WebhookMetrics } from "../metrics.ts";

const MS_PER_SECOND = 1000;

interface ServedCertificateOptions {
  readonly server: Server;
  /** The certificate and key that `server` uses. */
  readonly pair: ServingPair;
  /** The CA certificates of clients that `server` uses, as PEM; null if clients need no certificate. */
  readonly clientCA: string | null;
  /** The names for which the certificate must be valid. */
  readonly hosts: readonly string[];
  readonly metrics: WebhookMetrics;
}

/**
 * The TLS files of the server. New connections use new files. Open connections continue to use the previous files.
 */
export class ServedCertificate {
  readonly #options: ServedCertificateOptions;
  #pair: ServingPair;
  #clientCA: string | null;
  /** The names for which the certificate is not valid. */
  missingHosts: readonly string[] = [];

  constructor(options: ServedCertificateOptions) {
    this.#options = options;
    this.#pair = options.pair;
    this.#clientCA = options.clientCA;
    this.#record();
  }

  /** The expiry time of the current certificate. */
  get notAfter(): Date {
    return this.#pair.notAfter;
  }

  /** Throws if OpenSSL rejects the certificate or the key. The server then continues to use the previous pair. */
  usePair(pair: ServingPair): void {
    this.#use(pair, this.#clientCA);
    this.#record();
  }

  /** Throws if OpenSSL rejects the CA. The server then continues to use the previous CA. */
  useClientCA(ca: string): void {
    this.#use(this.#pair, ca);
  }

  #use(pair: ServingPair, clientCA: string | null): void {
    const { cert, key } = pair;
    this.#options.server.setSecureContext({ cert, key, ...(clientCA !== null && { ca: clientCA }) });
    this.#pair = pair;
    this.#clientCA = clientCA;
    this.#options.metrics.certificateReloads.inc({ outcome: "ok" });
  }

  #record(): void {
    const { metrics, hosts } = this.#options;
    const certificate = parseCertificate(this.#pair.cert);
    this.missingHosts = certificate === null ? [] : missingHosts(certificate, hosts);
    metrics.certificateExpiry.set(this.#pair.notAfter.getTime() / MS_PER_SECOND);
    metrics.missingHosts.set(this.missingHosts.length);
  }
}
