import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import type { Test } from "tap";
import { boundAddress } from "../../shared/server/listen-address.ts";
import { send } from "../loopback-request.ts";

/** A request that an STS received. */
interface RecordedCall {
  /** The parameters of the request. */
  readonly form: Readonly<Record<string, string>>;
  /** Whether the request was signed. */
  readonly isSigned: boolean;
}

/** A proxy in front of an STS that records each request. */
export interface RecordedSTS {
  readonly url: string;
  readonly calls: readonly RecordedCall[];
}

/** Starts a proxy on a free loopback port that forwards each request to the STS at `target`. */
export async function recordSTS(t: Test, target: string): Promise<RecordedSTS> {
  const calls: RecordedCall[] = [];
  const forward = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    const { authorization = "", "content-type": type = "" } = request.headers;
    calls.push({ form: Object.fromEntries(new URLSearchParams(body)), isSigned: authorization !== "" });
    const headers = { "content-type": type, ...(authorization === "" ? {} : { authorization }) };
    const answer = await send(target, { method: "POST", headers, body });
    response.writeHead(answer.status, { "content-type": answer.headers["content-type"] }).end(answer.body);
  };
  const server = createServer((request, response) => void forward(request, response));
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${boundAddress(server).port}`, calls };
}
