import http from "node:http";
import https from "node:https";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { SteadyClock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";

/** The API server sent a response body that exceeds the limit. */
export class BodyTooLarge extends Error {}

/** Returns a client whose response bodies throw BodyTooLarge after `bytes` bytes. */
export function limitedAPI(api: KubernetesAPI, bytes: number): KubernetesAPI {
  return {
    async request(request) {
      const response = await api.request(request);
      return { ...response, body: limitedBody(response.body, bytes) };
    },
  };
}

async function* limitedBody(body: AsyncIterable<Buffer>, bytes: number): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > bytes) throw new BodyTooLarge(`the response body has more than ${bytes} bytes`);
    yield chunk;
  }
}

/** A client of the Kubernetes API server. Tests pass a fake client. */
export interface KubernetesAPI {
  /**
   * Sends one request. Resolves when the response headers arrive, regardless of the HTTP status. Rejects if no response
   * arrives.
   */
  request(request: KubernetesRequest): Promise<KubernetesResponse>;
}

/** What a part of the program needs that watches or writes objects and repeats failed requests. */
export interface ClusterPorts {
  readonly api: KubernetesAPI;
  readonly clock: SteadyClock;
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
}

export interface KubernetesRequest {
  /** The path and query of the request, such as `/api/v1/namespaces?limit=500`. */
  readonly path: string;
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The request body as JSON text. The default of `contentType` is application/json. */
  readonly body?: string;
  readonly contentType?: string;
  /** Default: application/json. */
  readonly accept?: string;
  /** When this signal aborts, the request and the response body are canceled. */
  readonly signal: AbortSignal;
}

export interface KubernetesResponse {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  /** The response body. The caller must read the body to its end or abort the request. */
  readonly body: AsyncIterable<Buffer>;
}

/** The address of an API server, and node:https options that contain the current credentials and certificates. */
export interface KubernetesConnection {
  readonly server: string;
  readonly options: Omit<https.RequestOptions, "headers"> & { readonly headers?: http.OutgoingHttpHeaders };
}

/**
 * Returns the connection for the next request. The client calls `connect` before each request, because tokens and
 * certificates rotate. `unauthorized` is true if the API server answered the previous request with 401.
 */
export type Connect = (unauthorized: boolean) => Promise<KubernetesConnection>;

const KEEP_ALIVE_MS = 30_000;
/**
 * The maximum time until the TCP connection and the TLS handshake are complete, in ms. After a network outage, TCP can
 * wait over 30 s before it tries again to connect.
 */
const CONNECT_MS = 5_000;

/**
 * Returns a client that uses node:https, or plain HTTP for `kubectl proxy`. The client does not follow redirects. A
 * request fails if it has no connection after `connectMs`.
 */
export function httpKubernetesAPI(connect: Connect, connectMs = CONNECT_MS): KubernetesAPI {
  let unauthorized = false;
  return {
    async request(request) {
      const connection = await connect(unauthorized);
      const response = await send(connection, request, connectMs);
      unauthorized = response.statusCode === 401;
      return { status: response.statusCode ?? 0, headers: response.headers, body: response };
    },
  };
}

function send(
  { server, options }: KubernetesConnection, request: KubernetesRequest, connectMs: number,
): Promise<http.IncomingMessage> {
  const { path, method = "GET", body, contentType = "application/json", accept = "application/json", signal } = request;
  // The server URL can have a path, for example if the server is a multi-cluster proxy.
  const url = new URL(server.replace(/\/+$/, "") + path);
  const content = body === undefined
    ? {}
    : { "content-type": contentType, "content-length": Buffer.byteLength(body) };
  const headers = { ...options.headers, accept, ...content };
  return new Promise((resolve, reject) => {
    const { request: open } = url.protocol === "http:" ? http : https;
    const sent = open(url, { ...options, method, headers, signal }, resolve);
    sent.on("socket", (socket) => {
      socket.setKeepAlive(true, KEEP_ALIVE_MS);
      if (socket.connecting) limitConnect(sent, socket, connectMs);
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

/** Destroys the request if the socket is not connected within `connectMs`. */
function limitConnect(sent: http.ClientRequest, socket: Socket, connectMs: number): void {
  const message = `no connection to ${sent.host} within ${connectMs / 1000} s`;
  socket.setTimeout(connectMs, () => sent.destroy(new Error(message)));
  socket.once(socket instanceof TLSSocket ? "secureConnect" : "connect", () => socket.setTimeout(0));
}

const FIRST_BODY_BYTES = 64 * 1024;

/**
 * Returns the response body as text. Copies each chunk into one buffer, so that the garbage collector can free the
 * chunks early.
 */
export async function bodyText(response: KubernetesResponse): Promise<string> {
  let bytes = Buffer.allocUnsafe(FIRST_BODY_BYTES);
  let length = 0;
  for await (const chunk of response.body) {
    if (length + chunk.length > bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(bytes.length * 2, length + chunk.length));
      bytes.copy(larger, 0, 0, length);
      bytes = larger;
    }
    chunk.copy(bytes, length);
    length += chunk.length;
  }
  return bytes.toString("utf8", 0, length);
}

/** The longest delay that a response can request, in ms: a wrong date must not stop a watch for days. */
const MAX_RETRY_AFTER_MS = 60_000;

/**
 * Returns the delay that the `Retry-After` header requests (as seconds or a date), in ms, at most 60 s. Returns null if
 * the header is missing or invalid.
 */
export function retryAfterMs(headers: http.IncomingHttpHeaders, nowMs: number): number | null {
  const value = headers["retry-after"];
  if (value === undefined) return null;
  const delay = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - nowMs;
  return Number.isFinite(delay) ? Math.min(Math.max(0, delay), MAX_RETRY_AFTER_MS) : null;
}

/** A page of a list. `continuation` is the token of the next page, or "" on the last page. */
export interface Page {
  readonly continuation: string;
}

export interface PageRequest {
  /** The query parameters `limit` and `continue`. */
  readonly query: string;
  /** The maximum size of the response. If it is exceeded, `read` must reject with BodyTooLarge. */
  readonly maxBytes: number;
}

/**
 * The maximum size of a page, in bytes. Objects can have 1.5 MiB, so 500 objects of one user could exceed the memory of
 * the process. A page that is too large is requested again with fewer objects.
 */
const MAX_BYTES = LIMITS.listPageBytes.value;
/** The maximum size of a page with one object. The API server can escape characters as six bytes. */
const MAX_OBJECT_BYTES = 16 * 1024 * 1024;
const SHRINK_FACTOR = 8;

/**
 * Yields the pages of a list until the last page. A page has at most `pageSize` objects. Rejects with BodyTooLarge if
 * one object is too large.
 */
export async function* readPages<P extends Page>(
  pageSize: number, read: (request: PageRequest) => Promise<P>,
): AsyncGenerator<P, void> {
  let limit = pageSize;
  let next = "";
  // Pages are read in sequence: each page contains the token of the next page.
  for (;;) {
    const maxBytes = limit === 1 ? MAX_OBJECT_BYTES : MAX_BYTES;
    // oxlint-disable-next-line no-await-in-loop
    const page = await nullIfTooLarge(read({ query: `limit=${limit}${next}`, maxBytes }));
    if (page === null) {
      if (limit === 1) throw new BodyTooLarge(`an object has more than ${maxBytes} bytes`);
      limit = Math.ceil(limit / SHRINK_FACTOR);
      continue;
    }
    yield page;
    if (page.continuation === "") return;
    next = `&continue=${encodeURIComponent(page.continuation)}`;
  }
}

async function nullIfTooLarge<P>(page: Promise<P>): Promise<P | null> {
  try {
    return await page;
  } catch (error) {
    if (error instanceof BodyTooLarge) return null;
    throw error;
  }
}
