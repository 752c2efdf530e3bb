import { ResolverError } from "../../shared/formats/errors.ts";
import { isLoopbackHost, type ListenAddress } from "../../shared/server/listen-address.ts";
import type { EndpointSettings } from "../sts-upstream/connection.ts";
import type { BaseProvider } from "./identity.ts";
import type { ProviderChain } from "./provider-chain.ts";

/**
 * Returns the default provider chain of the AWS SDK: environment, profile, web identity, Pod Identity, instance
 * metadata. The chain calls STS for a web identity and for the role of a profile. These STS calls use the endpoint in
 * `options`, and ignore AWS_ENDPOINT_URL* and the endpoint of a profile.
 */
export function defaultProviderChain(options: EndpointSettings): BaseProvider {
  let chain: ProviderChain | null = null;
  return async () => {
    // Loads the provider chain only on first use, because the chain is large, and a sidecar with another provider does
    // not need it. The provider chain is created in a separate module, because `import()` of a CommonJS package has no
    // named exports in a bundle.
    chain ??= (await import("./provider-chain.ts")).makeProviderChain(options);
    // The chain caches credentials until 5 minutes before they expire. `forceRefresh` bypasses this cache, because the
    // sidecar refreshes its credentials earlier.
    const { accessKeyId, secretAccessKey, sessionToken, expiration } = await chain({ forceRefresh: true });
    const expirationMs = expiration?.getTime() ?? null;
    return { accessKeyID: accessKeyId, secretAccessKey, sessionToken: sessionToken ?? null, expirationMs };
  };
}

/** The hosts of the agent. Source: https://docs.aws.amazon.com/eks/latest/userguide/pod-id-how-it-works.html */
const POD_IDENTITY_HOSTS: ReadonlySet<string> = new Set(["169.254.170.23", "[fd00:ec2::23]"]);
/** The variables of credentials that the chain prefers to those of the agent. */
const PREFERRED = ["AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE"] as const;

/** Whether the chain takes its credentials from the agent of EKS Pod Identity, as far as the environment shows. */
export function usesPodIdentity(environment: OutboundAddresses["environment"]): boolean {
  const isPreferred = PREFERRED.some((name) => (environment[name] ?? "") !== "");
  const host = URL.parse(environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] ?? "")?.hostname ?? "";
  return !isPreferred && POD_IDENTITY_HOSTS.has(host);
}

/**
 * The environment variables that contain a URL from which the chain requests credentials. The list does not include
 * AWS_ENDPOINT_URL_STS, because the chain ignores this variable.
 */
const ENDPOINTS = ["AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_EC2_METADATA_SERVICE_ENDPOINT"] as const;

const OWN_STS_ENDPOINT =
  "--sts-endpoint names this sidecar's own address (--listen). " +
  "Set the flag to the upstream STS, or remove the flag to use the endpoint of --region";

/** The addresses from which the sidecar requests credentials. */
export interface OutboundAddresses {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** --sts-endpoint. */
  readonly stsEndpoint: string | null;
}

/**
 * Throws ERR_CONFIG_INVALID if the sidecar would request its base identity from itself, or use itself as its STS. Such
 * a loop occurs, for example, if all containers of a Pod have the environment variables of the controller.
 */
export function rejectOwnAddress({ environment, stsEndpoint }: OutboundAddresses, listen: ListenAddress): void {
  const own = ENDPOINTS.filter((name) => isOwn(environment[name] ?? "", listen));
  const faults = own.map((name) => (
    `${name} names this sidecar's own address (--listen). ` +
    "Set this variable only in the controller's container, and configure a separate identity for the sidecar"
  ));
  if (isOwn(stsEndpoint ?? "", listen)) faults.push(OWN_STS_ENDPOINT);
  if (faults.length > 0) throw new ResolverError("ERR_CONFIG_INVALID", faults.join("\n"));
}

function isOwn(text: string, listen: ListenAddress): boolean {
  const url = URL.parse(text);
  if (url === null) return false;
  const port = url.port === "" ? defaultPort(url.protocol) : Number(url.port);
  return port === listen.port && isThisMachine(url.hostname.replace(/^\[|\]$/g, ""));
}

/**
 * Returns whether a connection to the host stays on this machine. This is the case for loopback and unspecified
 * addresses, for their IPv4-mapped IPv6 addresses, and for names below localhost.
 */
function isThisMachine(host: string): boolean {
  if (isLoopbackHost(host) || host === "0.0.0.0" || host === "::") return true;
  return /^(.*\.)?localhost\.?$/.test(host) || /^::ffff:(7f|0:0$)/.test(host);
}

function defaultPort(protocol: string): number {
  return protocol === "https:" ? 443 : 80;
}
