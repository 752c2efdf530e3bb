import { get as httpGet, type IncomingMessage } from "node:http";

export interface LoopbackAnswer {
  readonly status: number;
  readonly body: string;
}

/** Over node:http, as SDKs do; fetch sends headers that the sidecar refuses. */
export async function get(url: string, headers: Readonly<Record<string, string>> = {}): Promise<LoopbackAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  httpGet(url, { headers, agent: false }, resolve).once("error", reject);
  const response = await promise;
  const parts = await response.setEncoding("utf8").toArray();
  return { status: response.statusCode ?? 0, body: parts.join("") };
}
