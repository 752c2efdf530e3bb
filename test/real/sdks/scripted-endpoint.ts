import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { Test } from "tap";
import { boundAddress, formatListenAddress } from "../../../shared/server/listen-address.ts";

/** An answer of no sidecar: the fields of the body, and what else differs from 200 `application/json`. */
export interface ScriptedAnswer {
  readonly status?: number;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: object;
}

export interface ScriptedEndpoint {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  /** The requests so far. */
  readonly requests: readonly { readonly status: null }[];
}

/** Answers as told by the target of a request, or takes it and never answers. Stopped with the test. */
export async function startScriptedEndpoint(t: Test, answer: (target: string) => ScriptedAnswer | "nothing"): Promise<ScriptedEndpoint> {
  const requests: { readonly status: null }[] = [];
  const server = createServer(({ url = "" }, response) => {
    requests.push({ status: null });
    const scripted = answer(url);
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

function send(response: ServerResponse, { status = 200, type = "application/json", headers = {}, body }: ScriptedAnswer): void {
  response.writeHead(status, { "content-type": type, ...headers }).end(JSON.stringify(body));
}

/** A body that every SDK takes, with `lifeMs` left. */
export function wholeBody(lifeMs = 3_600_000): Readonly<Record<string, string>> {
  return {
    AccessKeyId: "ASIASCRIPTED", SecretAccessKey: "scripted-secret", Token: "scripted-token", AccountId: "111111111111",
    Expiration: `${new Date(Date.now() + lifeMs).toISOString().slice(0, 19)}Z`,
  };
}
