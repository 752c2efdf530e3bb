import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { Test } from "tap";
import { boundAddress, formatListenAddress } from "../../../../shared/server/listen-address.ts";

/**
 * A response that a sidecar never sends: the body, and the status and type if they differ from 200 and
 * `application/json`.
 */
export interface ScriptedResponse {
  readonly status?: number;
  readonly type?: string;
  readonly body: object;
}

interface ScriptedEndpoint {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  /** The requests that the server has received so far. */
  readonly requests: readonly { readonly status: null }[];
}

/**
 * Starts a server that calls `respond` for each request and sends the returned response. If `respond` returns
 * "nothing", the server never responds. The server stops when the test ends.
 */
export async function startScriptedEndpoint(
  t: Test, respond: () => ScriptedResponse | "nothing",
): Promise<ScriptedEndpoint> {
  const requests: { readonly status: null }[] = [];
  const server = createServer((_request, response) => {
    requests.push({ status: null });
    const scripted = respond();
    if (scripted !== "nothing") send(response, scripted);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://${formatListenAddress(boundAddress(server))}`, requests };
}

function send(response: ServerResponse, scripted: ScriptedResponse): void {
  const { status = 200, type = "application/json", body } = scripted;
  response.writeHead(status, { "content-type": type }).end(JSON.stringify(body));
}

/** Returns a response body that every SDK accepts. The credentials in the body expire after `lifeMs`. */
export function credentialsBody(lifeMs = 3_600_000): Readonly<Record<string, string>> {
  return {
    AccessKeyId: "ASIASCRIPTED", SecretAccessKey: "scripted-secret", Token: "scripted-token", AccountId: "111111111111",
    Expiration: `${new Date(Date.now() + lifeMs).toISOString().slice(0, 19)}Z`,
  };
}
