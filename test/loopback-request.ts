import { type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";

export interface LoopbackAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface LoopbackRequest {
  /** Default GET. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Sends requests with node:http, as SDKs do, because fetch sends headers that the sidecar rejects. */
export async function get(url: string, headers: Readonly<Record<string, string>> = {}): Promise<LoopbackAnswer> {
  return send(url, { headers });
}

/** Sends a request with any method and body on a new connection. Returns the answer. */
export async function send(
  url: string,
  { method = "GET", headers = {}, body }: LoopbackRequest,
): Promise<LoopbackAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request(url, { method, headers, agent: false }, resolve).once("error", reject).end(body);
  const response = await promise;
  const parts = await response.setEncoding("utf8").toArray();
  return { status: response.statusCode ?? 0, headers: response.headers, body: parts.join("") };
}
