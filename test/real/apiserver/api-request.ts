import type { IncomingMessage } from "node:http";
import { request } from "node:https";

export interface ApiRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as JSON when given. */
  readonly body: unknown;
  /** PEM of the certificates that the server is believed by. */
  readonly ca: string;
}

export interface ApiResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Parsed when the server says that it is JSON, else the text. */
  readonly body: unknown;
}

const LIMIT_MS = 20_000;

/** One request on a connection of its own, so that a restarted server is never reached through a dead one. */
export async function apiRequest({ url, method, headers, body, ca }: ApiRequest): Promise<ApiResponse> {
  const sent = body === undefined ? undefined : JSON.stringify(body);
  const type = sent === undefined ? {} : { "content-type": "application/json" };
  const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
    const outgoing = request(url, { method, headers: { ...type, ...headers }, ca, agent: false, signal: AbortSignal.timeout(LIMIT_MS) });
    outgoing.once("error", reject).once("response", resolve).end(sent);
  });
  const text = (await incoming.setEncoding("utf8").toArray()).join("");
  const json = incoming.headers["content-type"]?.startsWith("application/json") === true;
  return { status: incoming.statusCode ?? 0, headers: incoming.headers, body: json ? (JSON.parse(text) as unknown) : text };
}
