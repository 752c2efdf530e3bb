import http from "node:http";
import https from "node:https";

/** The API server, as far as this project asks it. Tests give a server of their own. */
export interface KubernetesAPI {
  /** Sends one request and resolves when the answer's headers are there, whatever its status. Rejects when there is no answer. */
  request(request: KubernetesRequest): Promise<KubernetesResponse>;
}

export interface KubernetesRequest {
  /** Path and query, as `/api/v1/namespaces?limit=500`. */
  readonly path: string;
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** A JSON text; `contentType` defaults to application/json. */
  readonly body?: string;
  readonly contentType?: string;
  /** Ends the request, and the reading of the answer. */
  readonly signal: AbortSignal;
}

export interface KubernetesResponse {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  /** To be read to its end, or the request's signal aborted. */
  readonly body: AsyncIterable<Buffer>;
}

/** An API server's address, and the options with which node:https reaches it: credentials and certificates as they are now. */
export interface KubernetesConnection {
  readonly server: string;
  readonly options: Omit<https.RequestOptions, "headers"> & { readonly headers?: http.OutgoingHttpHeaders };
}

/** Asked before each request, since tokens and certificates rotate; `refused` when the last ones were answered with 401. */
export type Connect = (refused: boolean) => Promise<KubernetesConnection>;

const KEEP_ALIVE_MS = 30_000;

/** The API server over node:https, or over plain HTTP for `kubectl proxy`. Redirects are not followed. */
export function httpKubernetesAPI(connect: Connect): KubernetesAPI {
  let refused = false;
  return {
    async request(request) {
      const connection = await connect(refused);
      const response = await send(connection, request);
      refused = response.statusCode === 401;
      return { status: response.statusCode ?? 0, headers: response.headers, body: response };
    },
  };
}

function send({ server, options }: KubernetesConnection, request: KubernetesRequest): Promise<http.IncomingMessage> {
  const { path, method = "GET", body, contentType = "application/json", signal } = request;
  // A server's address may carry a path, as a proxy in front of several clusters has it.
  const url = new URL(server.replace(/\/+$/, "") + path);
  const content = body === undefined ? {} : { "content-type": contentType, "content-length": Buffer.byteLength(body) };
  const headers = { ...options.headers, accept: "application/json", ...content };
  return new Promise((resolve, reject) => {
    const sent = (url.protocol === "http:" ? http : https).request(url, { ...options, method, headers, signal }, resolve);
    sent.on("socket", (socket) => socket.setKeepAlive(true, KEEP_ALIVE_MS));
    sent.on("error", reject);
    sent.end(body);
  });
}

const FIRST_BODY_BYTES = 64 * 1024;

/** The answer's body as text. Each chunk is copied as it comes: kept until the end, chunks outlive the quick collections of garbage. */
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

/** What `Retry-After` asks for, in ms, as seconds or as a date; null without one. */
export function retryAfterMs(headers: http.IncomingHttpHeaders, nowMs: number): number | null {
  const value = headers["retry-after"];
  if (value === undefined) return null;
  const delay = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - nowMs;
  return Number.isFinite(delay) ? Math.max(0, delay) : null;
}
