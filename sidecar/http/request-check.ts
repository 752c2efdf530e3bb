import type { IncomingMessage } from "node:http";
import { ResolverError } from "../../shared/decisions/errors.ts";
import { formatListenAddress, type ListenAddress } from "../../shared/server/listen-address.ts";
import { isFormType, shown } from "../sts/form.ts";
import type { TokenCheck } from "../token.ts";

/** Headers that a proxy or a browser adds, and no SDK: https://www.rfc-editor.org/rfc/rfc7239, https://www.w3.org/TR/fetch-metadata/ */
const FOREIGN_HEADER = /^(?:x-forwarded-|sec-fetch-|(?:forwarded|via|origin)$)/;
const HTTP_PORT = 80;

/**
 * Where STS is asked. SDKs sign the path that they were configured with, some add a slash to it, and that for Java drops it:
 * https://github.com/aws/aws-sdk-java-v2/issues/3387
 */
export const STS_PATHS: readonly string[] = ["/sts", "/sts/", "/"];

/** Whether the request is for STS: exactly these paths, as signed, and nothing that only decodes to them. */
export function isSTSPath(url: string): boolean {
  const end = url.indexOf("?");
  return STS_PATHS.includes(end < 0 ? url : url.slice(0, end));
}

/**
 * Refuses whatever is not an SDK on this machine: in this order another method, another Host (a page that rebinds its name to
 * 127.0.0.1 still sends that name), a proxy's or a browser's headers, a wrong token. `POST /sts` is signed in place of the token,
 * which its body is needed for.
 */
export function checkRequest(request: IncomingMessage, { listen, token }: { readonly listen: ListenAddress; readonly token: TokenCheck }): void {
  const isSTS = isSTSPath(request.url ?? "");
  if (isSTS) checkSTSForm(request);
  else if (request.method !== "GET") throw new ResolverError("ERR_REQUEST_METHOD", `Credentials are read with GET, not ${request.method ?? "none"}.`);
  checkHost(request, listen);
  const foreign = foreignHeader(request);
  if (foreign !== undefined) {
    const message = `The request carries ${foreign}, which proxies and browsers send (and fetch of Node.js, unlike node:http); ask this address directly.`;
    throw new ResolverError("ERR_REQUEST_HOST", message);
  }
  if (!isSTS && !token.accepts(request.headers.authorization ?? "")) {
    throw new ResolverError(
      "ERR_TOKEN_INVALID",
      "The Authorization header does not carry the token. Have the client read the sidecar's --token-file: an SDK by AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE, " +
        "credential-process by its own --token-file; or set AWS_CONTAINER_AUTHORIZATION_TOKEN to the token.",
    );
  }
}

function checkSTSForm({ method, url = "", headers }: IncomingMessage): void {
  if (/[?&]X-Amz-Signature=/i.test(url)) {
    throw new ResolverError("ERR_REQUEST_MALFORMED", "The request is presigned, and such a URL works for whoever sees it. Sign with the Authorization header.");
  }
  if (method !== "POST") throw new ResolverError("ERR_REQUEST_METHOD", `STS is asked with POST, not ${method ?? "none"}.`);
  if (url.includes("?")) throw new ResolverError("ERR_REQUEST_MALFORMED", "The path takes no query; Action and its parameters are sent in the body.");
  const type = headers["content-type"] ?? "";
  if (!isFormType(type)) {
    throw new ResolverError("ERR_REQUEST_MEDIA_TYPE", `The body is ${type === "" ? "of no type" : shown(type)}, not application/x-www-form-urlencoded in UTF-8.`);
  }
}

function foreignHeader({ headers }: IncomingMessage): string | undefined {
  for (const name in headers) if (FOREIGN_HEADER.test(name)) return name;
  return undefined;
}

function checkHost({ url, headers, rawHeaders }: IncomingMessage, listen: ListenAddress): void {
  const isOriginForm = url?.startsWith("/") === true;
  if (isOriginForm && hostsOf(listen).has(headers.host?.toLowerCase() ?? "") && hasOneHost(rawHeaders)) return;
  throw new ResolverError(
    "ERR_REQUEST_HOST",
    `The request must be for this listener itself, with Host: ${formatListenAddress(listen)}.`,
  );
}

/** Node keeps the first of several Host headers; another server on the way might have kept the last. */
function hasOneHost(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) if (rawHeaders[i]?.length === 4 && rawHeaders[i]?.toLowerCase() === "host") hosts += 1;
  return hosts === 1;
}

/** By the address, which stays one object while the server listens. */
const HOSTS = new WeakMap<ListenAddress, ReadonlySet<string>>();

function hostsOf(listen: ListenAddress): ReadonlySet<string> {
  const known = HOSTS.get(listen) ?? loopbackHosts(listen);
  HOSTS.set(listen, known);
  return known;
}

function loopbackHosts({ host, port }: ListenAddress): ReadonlySet<string> {
  const names = [host, "127.0.0.1", "localhost", "::1"];
  const hosts = names.map((name) => formatListenAddress({ host: name, port }));
  // Clients leave out the default port.
  return new Set(port === HTTP_PORT ? hosts.flatMap((one) => [one, one.replace(/:80$/, "")]) : hosts);
}
