import { ResolverError } from "../../shared/decisions/errors.ts";
import { isLoopbackHost } from "../../shared/server/listen-address.ts";

/** What --sts-endpoint and --region say; null is the regional endpoint. Throws ERR_CONFIG_INVALID where neither says enough. */
export function readSTSEndpoint({ endpoint, region }: { readonly endpoint: string | null; readonly region: string | null }): URL | null {
  if (endpoint !== null) return parseSTSEndpoint(endpoint);
  if (region !== null) return null;
  throw new ResolverError("ERR_CONFIG_INVALID", "--region is needed for the regional STS endpoint; give it, or an endpoint with --sts-endpoint.");
}

/** Throws ERR_CONFIG_INVALID unless it is https, or http to this machine, without user or query. */
export function parseSTSEndpoint(text: string): URL {
  const url = URL.parse(text);
  if (url !== null && isSafeEndpoint(url)) return url;
  // The value itself is not repeated: it may hold a password.
  throw new ResolverError("ERR_CONFIG_INVALID", "--sts-endpoint must be an https URL, or http to a loopback address, without user, password, query or fragment.");
}

function isSafeEndpoint({ protocol, hostname, username, password, search, hash }: URL): boolean {
  if (`${username}${password}${search}${hash}` !== "") return false;
  return protocol === "https:" || (protocol === "http:" && isLoopbackHost(hostname.replace(/^\[|\]$/g, "")));
}
