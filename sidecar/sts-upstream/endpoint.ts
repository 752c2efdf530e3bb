import { ResolverError } from "../../shared/decisions/errors.ts";
import { isLoopbackHost } from "../../shared/server/listen-address.ts";

interface EndpointSettings {
  /** --sts-endpoint. */
  readonly endpoint: string | null;
  readonly region: string | null;
}

/**
 * Returns the URL of --sts-endpoint, or null for the regional endpoint. Throws ERR_CONFIG_INVALID if --sts-endpoint and
 * --region are both missing.
 */
export function readSTSEndpoint({ endpoint, region }: EndpointSettings): URL | null {
  if (endpoint !== null) return parseSTSEndpoint(endpoint);
  if (region !== null) return null;
  const message = "--region is required for the regional STS endpoint. Set --region or --sts-endpoint.";
  throw new ResolverError("ERR_CONFIG_INVALID", message);
}

/**
 * Parses the URL. Throws ERR_CONFIG_INVALID unless the scheme of the URL is https, or http for a loopback address. The
 * URL must have no user, password, query or fragment.
 */
export function parseSTSEndpoint(text: string): URL {
  const url = URL.parse(text);
  if (url !== null && isSafeEndpoint(url)) return url;
  // The error message omits the URL, because the URL can contain a password.
  throw new ResolverError(
    "ERR_CONFIG_INVALID",
    "--sts-endpoint must be an https URL, or http to a loopback address, without user, password, query or fragment.",
  );
}

function isSafeEndpoint({ protocol, hostname, username, password, search, hash }: URL): boolean {
  if (`${username}${password}${search}${hash}` !== "") return false;
  return protocol === "https:" || (protocol === "http:" && isLoopbackHost(hostname.replace(/^\[|\]$/g, "")));
}
