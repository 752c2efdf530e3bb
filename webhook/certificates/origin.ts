import { verifiedHosts } from "../../certs/hosts.ts";
import { readServingPair, type ServingPair } from "../../certs/read.ts";
import { ResolverError } from "../../shared/decisions/errors.ts";
import type { SettingsFor } from "../../shared/decisions/settings.ts";
import { systemClock } from "../../shared/inventory/clock.ts";
import type { AllowedClient } from "../callers.ts";
import { type ReloadPorts, watchClientCA, watchServingFiles } from "./reload.ts";

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
