import type { IncomingMessage } from "node:http";
import { type Agent, request } from "node:https";

interface ApiRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The body of the request, which is sent as JSON; undefined for a request without a body. */
  readonly body: unknown;
  /** PEM certificates of the trusted CAs. */
  readonly ca: string;
  /** The agent that reuses connections. Default: no agent. */
  readonly agent?: Agent | undefined;
}

export interface ApiResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The parsed body if the content type is JSON, else the body as text. */
  readonly body: unknown;
}

const LIMIT_MS = 20_000;

/**
 * Sends one request, by default on a new connection, because a restart of the server can break an existing connection.
 */
export async function apiRequest({ url, method, headers, body, ca, agent }: ApiRequest): Promise<ApiResponse> {
  const sent = body === undefined ? undefined : JSON.stringify(body);
  const type = sent === undefined ? {} : { "content-type": "application/json" };
  const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
    const signal = AbortSignal.timeout(LIMIT_MS);
    const options = { method, headers: { ...type, ...headers }, ca, agent: agent ?? false, signal };
    const outgoing = request(url, options);
    outgoing.once("error", reject).once("response", resolve).end(sent);
  });
  const text = (await incoming.setEncoding("utf8").toArray()).join("");
  const json = incoming.headers["content-type"]?.startsWith("application/json") === true;
  const parsed = json ? (JSON.parse(text) as unknown) : text;
  return { status: incoming.statusCode ?? 0, headers: incoming.headers, body: parsed };
}
