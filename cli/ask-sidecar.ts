import type { IncomingMessage, RequestOptions } from "node:http";
import type { LookupFunction } from "node:net";

/** An answer of the sidecar, or of whoever listens there, its body whole. */
export interface SidecarAnswer {
  readonly status: number;
  readonly body: string;
}

/** Asks once. Rejects with a system error where there is no answer, or one that is larger than credentials can be. */
export type AskSidecar = (url: URL, token: string, signal: AbortSignal) => Promise<SidecarAnswer>;

const BODY_LIMIT_BYTES = 64 * 1024;
const HEADER_LIMIT_BYTES = 8 * 1024;

/** Through node:http: the sidecar takes fetch's Sec-Fetch-Mode for a browser's, and a redirect is not followed. */
export const askSidecar: AskSidecar = async (url, token, signal) => {
  const { request } = await (url.protocol === "https:" ? import("node:https") : import("node:http"));
  const { promise, resolve, reject } = Promise.withResolvers<SidecarAnswer>();
  const options: RequestOptions = {
    headers: { accept: "application/json", authorization: token },
    signal,
    maxHeaderSize: HEADER_LIMIT_BYTES,
    // An agent of its own takes no proxy from the environment (https://nodejs.org/api/http.html#built-in-proxy-support).
    agent: false,
    lookup: loopbackLookup,
  };
  request(url, options, (response) => void readAnswer(response).then(resolve, reject)).on("error", reject).end();
  return await promise;
};

/** `localhost` is this machine whatever a resolver says: https://www.rfc-editor.org/rfc/rfc6761#section-6.3 */
const loopbackLookup: LookupFunction = (_name, { all }, done) => {
  if (all === true) done(null, [{ address: "127.0.0.1", family: 4 }, { address: "::1", family: 6 }]);
  else done(null, "127.0.0.1", 4);
};

async function readAnswer(response: IncomingMessage): Promise<SidecarAnswer> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Without an encoding set a response gives Buffers; node's types leave them `any`.
  const received: AsyncIterable<Buffer> = response;
  for await (const bytes of received) {
    size += bytes.length;
    if (size > BODY_LIMIT_BYTES) throw new RangeError("the answer is larger than credentials can be");
    chunks.push(bytes);
  }
  return { status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString("utf8") };
}
