import { ResolverError } from "../../shared/decisions/errors.ts";
import { isLoopbackHost, type ListenAddress } from "../../shared/server/listen-address.ts";
import type { BaseProvider } from "./identity.ts";
import type { ProviderChain, ProviderChainOptions } from "./provider-chain.ts";

/**
 * The AWS SDK's default provider chain: environment, profile, web identity, Pod Identity, instance metadata. Where it has to ask
 * STS (web identity, a profile's role) it asks the same one as the sidecar, never one of AWS_ENDPOINT_URL* or a profile.
 */
export function defaultProviderChain(options: ProviderChainOptions): BaseProvider {
  let chain: ProviderChain | null = null;
  return async () => {
    // Loaded when it is needed: the providers are much code, and a sidecar that is given its identity needs none of it. Through a module
    // of ours, since a bundle's `import()` of a CommonJS package gives none of its names.
    chain ??= (await import("./provider-chain.ts")).makeProviderChain(options);
    // It keeps what it got until 5 minutes before its end; who asks here wants to renew earlier.
    const { accessKeyId, secretAccessKey, sessionToken, expiration } = await chain({ forceRefresh: true });
    return { accessKeyID: accessKeyId, secretAccessKey, sessionToken: sessionToken ?? null, expirationMs: expiration?.getTime() ?? null };
  };
}

/** Where the chain asks for credentials by HTTP. What it asks STS goes to the sidecar's own STS endpoint, whatever AWS_ENDPOINT_URL* say. */
const ENDPOINTS = ["AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_EC2_METADATA_SERVICE_ENDPOINT"] as const;

const OWN_STS =
  "--sts-endpoint names this sidecar's own address (--listen), which is for controllers. Leave it out for the endpoint of --region, or name the STS that the sidecar is to ask.";

/** Whom the sidecar would ask, beside what it is told in files. */
export interface Asked {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Of --sts-endpoint. */
  readonly stsEndpoint: string | null;
}

/**
 * Throws ERR_CONFIG_INVALID where the provider chain would ask this very sidecar for the sidecar's identity, which happens
 * when a Pod's every container gets the controller's environment, and where the sidecar would ask itself in STS's place.
 */
export function refuseOwnAddress({ environment, stsEndpoint }: Asked, listen: ListenAddress): void {
  const own = ENDPOINTS.filter((name) => isOwn(environment[name] ?? "", listen));
  const faults = own.map((name) => `${name} names this sidecar's own address (--listen). Set it for the controller's container only; the sidecar needs an identity of its own.`);
  if (isOwn(stsEndpoint ?? "", listen)) faults.push(OWN_STS);
  if (faults.length > 0) throw new ResolverError("ERR_CONFIG_INVALID", faults.join("\n"));
}

function isOwn(text: string, listen: ListenAddress): boolean {
  const url = URL.parse(text);
  if (url === null) return false;
  const port = url.port === "" ? defaultPort(url.protocol) : Number(url.port);
  return port === listen.port && isThisMachine(url.hostname.replace(/^\[|\]$/g, ""));
}

/** Loopback, and what a client that connects to it reaches there: no address at all, an IPv4 address in IPv6, names below localhost. */
function isThisMachine(host: string): boolean {
  return isLoopbackHost(host) || /^(.*\.)?localhost\.?$/.test(host) || host === "0.0.0.0" || host === "::" || /^::ffff:(7f|0:0$)/.test(host);
}

function defaultPort(protocol: string): number {
  return protocol === "https:" ? 443 : 80;
}
