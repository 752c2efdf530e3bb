import { hash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import type { SteadyClock } from "../../shared/core/clock.ts";
import { ResolverError } from "../../shared/formats/errors.ts";
import { JoinedChunks } from "../../shared/server/joined-chunks.ts";
import { formatListenAddress, type ListenAddress } from "../../shared/server/listen-address.ts";
import { isFormType, sanitize } from "../sts/query-protocol.ts";

/**
 * How long the previous token stays valid after a rotation, in ms. Clients reload the token file at different times.
 */
const PREVIOUS_TOKEN_MS = 60_000;
const NO_DIGEST = Buffer.alloc(32);

/** Compares a client's token with the current and the previous token in constant time. */
export class TokenCheck {
  readonly #clock: SteadyClock;
  #current: Buffer;
  #previous: { readonly digest: Buffer; readonly untilSteadyMs: number } | null = null;

  constructor(token: string, clock: SteadyClock) {
    this.#current = digestOf(token);
    this.#clock = clock;
  }

  accepts(presented: string): boolean {
    // Compares digests, which have equal lengths, so that the time of the comparison reveals nothing about the tokens.
    const digest = digestOf(presented);
    const isCurrent = timingSafeEqual(digest, this.#current);
    const equalsPrevious = timingSafeEqual(digest, this.#previous?.digest ?? NO_DIGEST);
    return isCurrent || (equalsPrevious && this.#isPreviousValid);
  }

  get #isPreviousValid(): boolean {
    return this.#previous !== null && this.#clock.steady() < this.#previous.untilSteadyMs;
  }

  /** Makes `token` the current token. Returns false if `token` already is the current token. */
  rotate(token: string): boolean {
    const digest = digestOf(token);
    if (digest.equals(this.#current)) return false;
    this.#previous = { digest: this.#current, untilSteadyMs: this.#clock.steady() + PREVIOUS_TOKEN_MS };
    this.#current = digest;
    return true;
  }
}

function digestOf(text: string): Buffer {
  return hash("sha256", text, "buffer");
}

/**
 * Matches headers that proxies and browsers add, but SDKs do not: https://www.rfc-editor.org/rfc/rfc7239,
 * https://www.w3.org/TR/fetch-metadata/
 */
const FOREIGN_HEADER = /^(?:x-forwarded-|sec-fetch-|(?:forwarded|via|origin)$)/;
const HTTP_PORT = 80;

/**
 * The accepted paths of the STS endpoint. Some SDKs add a slash to the configured path, and the SDK for Java drops the
 * path: https://github.com/aws/aws-sdk-java-v2/issues/3387
 */
export const STS_PATHS: readonly string[] = ["/sts", "/sts/", "/"];

/**
 * Returns true if `path` is one of the STS paths. A path with percent-encoding does not match, because SDKs sign the
 * path as they send it.
 */
export function isSTSPath(url: string): boolean {
  const end = url.indexOf("?");
  return STS_PATHS.includes(end < 0 ? url : url.slice(0, end));
}

export interface RequestCheckPorts {
  /** The address on which the server listens. If port 0 is configured, it changes when the server listens. */
  readonly listen: { readonly address: ListenAddress };
  readonly token: TokenCheck;
}

/**
 * Returns why a request is not from an SDK on this machine; null if it is. Checks, in this order: the method, the Host
 * header, headers of proxies and browsers, and the token. The Host header reveals DNS rebinding, because it contains
 * the host name of the web page. Requests to `POST /sts` have no token; the route checks who signed them before
 * it reads the body, and verifies the signature after it.
 */
export function faultOfRequest(request: IncomingMessage, { listen, token }: RequestCheckPorts): ResolverError | null {
  const isSTS = isSTSPath(request.url ?? "");
  const fault = (isSTS ? faultOfSTSRequest(request) : faultOfMethod(request, "GET"))
    ?? faultOfHost(request, listen.address) ?? faultOfHeaders(request);
  if (fault !== null || isSTS) return fault;
  return token.accepts(request.headers.authorization ?? "") ? null : invalidToken();
}

function invalidToken(): ResolverError {
  return new ResolverError(
    "ERR_TOKEN_INVALID",
    "The Authorization header does not contain the token. Point AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE of the SDK, or "
      + "--token-file of credential-process, to the sidecar's --token-file; "
      + "or set AWS_CONTAINER_AUTHORIZATION_TOKEN to the token.",
  );
}

function faultOfSTSRequest(request: IncomingMessage): ResolverError | null {
  const { url = "", headers } = request;
  if (url.includes("?")) {
    const message = "The STS endpoint accepts no query string and no presigned URL. Send Action and its parameters in "
      + "the body, and sign with the Authorization header.";
    return new ResolverError("ERR_REQUEST_MALFORMED", message);
  }
  const type = headers["content-type"] ?? "";
  const otherMethod = faultOfMethod(request, "POST");
  if (otherMethod !== null || isFormType(type)) return otherMethod;
  const fault = type === "" ? "The Content-Type header is missing" : `The Content-Type is ${sanitize(type)}`;
  return new ResolverError("ERR_REQUEST_MEDIA_TYPE", `${fault}. Send application/x-www-form-urlencoded in UTF-8.`);
}

function faultOfHeaders({ headers }: IncomingMessage): ResolverError | null {
  for (const name in headers) {
    if (!FOREIGN_HEADER.test(name)) continue;
    return new ResolverError(
      "ERR_REQUEST_HOST",
      `The request has the header ${name}, which only proxies and browsers send. `
        + "Connect without a proxy; in Node.js, use node:http instead of fetch.",
    );
  }
  return null;
}

function faultOfHost({ url, headers, rawHeaders }: IncomingMessage, listen: ListenAddress): ResolverError | null {
  const isLocal = hostsOf(listen).has(headers.host?.toLowerCase() ?? "");
  if (isLocal && isOriginForm(url) && hasOneHost(rawHeaders)) return null;
  const address = formatListenAddress(listen);
  const message = `The request is not addressed to this listener. Connect to http://${address} without a proxy.`;
  return new ResolverError("ERR_REQUEST_HOST", message);
}

/** Whether the request line has only a path. A request to a proxy has a whole URL. */
function isOriginForm(url = ""): boolean {
  return url.startsWith("/");
}

/**
 * Returns true if the request has exactly one Host header. Node uses the first of several Host headers, but a proxy
 * could use the last.
 */
function hasOneHost(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.length === 4 && rawHeaders[i]?.toLowerCase() === "host") hosts += 1;
  }
  return hosts === 1;
}

/**
 * Maps a listen address to the accepted Host headers. The map is a cache: while the server listens, its address is
 * always the same object.
 */
const HOSTS = new WeakMap<ListenAddress, ReadonlySet<string>>();

function hostsOf(listen: ListenAddress): ReadonlySet<string> {
  const known = HOSTS.get(listen);
  if (known !== undefined) return known;
  const hosts = loopbackHosts(listen);
  HOSTS.set(listen, hosts);
  return hosts;
}

function loopbackHosts({ host, port }: ListenAddress): ReadonlySet<string> {
  const names = [host, "127.0.0.1", "localhost", "::1"];
  const hosts = names.map((name) => formatListenAddress({ host: name, port }));
  // Clients omit the default port from the Host header.
  return new Set(port === HTTP_PORT ? hosts.flatMap((one) => [one, one.replace(/:80$/, "")]) : hosts);
}

function faultOfMethod({ method }: IncomingMessage, accepted: "GET" | "POST"): ResolverError | null {
  if (method === accepted) return null;
  const message = `The method is ${method ?? "missing"}. This path accepts only ${accepted}.`;
  return new ResolverError("ERR_REQUEST_METHOD", message);
}

type Done = (error: Error | null, body?: Buffer) => void;

/**
 * Passes the body of the request to `done`, or ERR_REQUEST_TOO_LARGE or ERR_REQUEST_MALFORMED. The parser of fastify
 * would keep each chunk.
 */
export function readBody({ headers }: IncomingMessage, payload: Readable, limitBytes: number, done: Done): void {
  const announced = Number(headers["content-length"] ?? Number.NaN);
  const chunks = new JoinedChunks(limitBytes);
  let isDone = false;
  const end = (error: Error | null): void => {
    if (isDone) return;
    isDone = true;
    if (error === null) done(null, chunks.bytes);
    else done(error);
  };
  if (announced > limitBytes) return end(tooLarge(limitBytes));
  payload.on("data", (chunk: Buffer) => {
    if (isDone) return;
    if (chunks.bytes.length + chunk.length > limitBytes) end(tooLarge(limitBytes));
    else chunks.add(chunk);
  });
  payload.on("end", () => {
    const isWhole = Number.isNaN(announced) || announced === chunks.bytes.length;
    end(isWhole ? null : malformed("the length of the body differs from the Content-Length header"));
  });
  payload.on("error", ({ message }) => end(malformed(message)));
}

function malformed(reason: string): ResolverError {
  return new ResolverError("ERR_REQUEST_MALFORMED", `The request is malformed: ${reason}.`);
}

function tooLarge(limitBytes: number): ResolverError {
  return new ResolverError("ERR_REQUEST_TOO_LARGE", `The body is larger than ${limitBytes} bytes.`);
}
