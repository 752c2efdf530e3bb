import type { Server } from "node:https";
import { dirname } from "node:path";
import { verifiedHosts } from "../certs/hosts.ts";
import { missingHosts, parseCertificate } from "../certs/pem.ts";
import { CertificateWatch, readServingPair, type ServingPair } from "../certs/certificate-files.ts";
import { type Clock, systemClock } from "../shared/core/clock.ts";
import type { SettingsFor } from "../shared/core/settings.ts";
import { ResolverError } from "../shared/formats/errors.ts";
import type { Logger } from "../shared/server/logger.ts";
import { type AllowedClient, readClientCA } from "./callers.ts";
import type { WebhookMetrics } from "./metrics.ts";

/** The certificate of --tls-dir. */
interface Origin {
  readonly dir: string;
  /** The names for which the certificate must be valid. */
  readonly hosts: readonly string[];
  /** The certificate at the start. */
  readonly pair: ServingPair;
}

/** Returns the certificate of --tls-dir. Rejects with ERR_CONFIG_* if the files are invalid. */
export async function openCertificate(
  { tlsDir: dir, url }: Pick<SettingsFor<"webhook">, "tlsDir" | "url">,
): Promise<Origin> {
  if (dir === null) throw new ResolverError("ERR_CONFIG_INVALID", "--tls-dir: required");
  const [hosts, pair] = await Promise.all([verifiedHosts(url), readServingPair(dir, new Date(systemClock.now()))]);
  return { dir, hosts, pair };
}

/** Keeps the certificate and the CA of client certificates up to date. Returns a function that stops it. */
export function maintainCertificates(
  origin: Origin, client: AllowedClient | null, ports: ReloadPorts,
): () => Promise<void> {
  const stop = watchServingFiles(origin, ports);
  const stopClientCA = client === null ? null : watchClientCA(client, ports);
  return async () => {
    stopClientCA?.();
    stop();
  };
}

export interface ReloadPorts {
  readonly served: ServedCertificate;
  readonly clock: Pick<Clock, "now">;
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
  const { served, clock, log } = ports;
  const logMissingHosts = (): void => {
    const { missingHosts: missing } = served;
    if (missing.length > 0) log.error({ dir, missing_hosts: missing }, MISSING_HOSTS);
  };
  logMissingHosts();
  const watch = new CertificateWatch({
    dir, read: () => readServingPair(dir, new Date(clock.now())), current: pair,
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
