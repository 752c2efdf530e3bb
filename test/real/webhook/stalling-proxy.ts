import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Agent, createServer, request } from "node:https";
import type { Test } from "tap";
import type { Cluster } from "../apiserver/cluster.ts";

/** A proxy in front of the API server, through which one client works, and whose watches can stall. */
export interface StallingProxy {
  /** The path of a kubeconfig like that of the cluster, with the address of the proxy. */
  readonly kubeconfig: string;
  /** The method and the path, with the query, of each request so far. */
  readonly requests: string[];
  /** Holds back everything that the API server sends in watches, also in new ones, but not their headers. */
  stall(): void;
  /** Delivers what was held back. */
  heal(): void;
}

export async function startStallingProxy(t: Test, cluster: Cluster): Promise<StallingProxy> {
  const requests: string[] = [];
  const held = new Set<IncomingMessage>();
  let isStalled = false;
  const forward = (answer: IncomingMessage, response: ServerResponse, isWatch: boolean): void => {
    response.writeHead(answer.statusCode ?? 0, answer.headers).flushHeaders();
    answer.on("data", (chunk: Buffer) => void response.write(chunk)).on("end", () => response.end());
    answer.once("error", () => response.destroy());
    response.once("close", () => answer.destroy());
    if (!isWatch) return;
    // A paused response delivers its end later too.
    if (isStalled) answer.pause();
    held.add(answer);
    answer.once("close", () => held.delete(answer));
  };
  const cert = await readFile(cluster.caFile);
  const agent = new Agent({ keepAlive: true, ca: cert });
  const key = await readFile(cluster.caFile.replace(/crt$/, "key"));
  const server = createServer({ cert, key }, (incoming, response) => {
    const { method = "", url = "", headers } = incoming;
    requests.push(`${method} ${url}`);
    const sent = request(new URL(url, cluster.url), { method, headers, agent });
    sent.once("response", (answer) => forward(answer, response, url.includes("watch=true")));
    sent.on("error", () => response.destroy());
    response.once("close", () => sent.destroy());
    incoming.pipe(sent);
  });
  server.listen(0, "127.0.0.1");
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
    agent.destroy();
  });
  await once(server, "listening");
  const address = server.address();
  const url = `https://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  const kubeconfig = cluster.file("stalling-kubeconfig");
  await writeFile(kubeconfig, (await readFile(cluster.kubeconfig, "utf8")).replaceAll(cluster.url, url));
  return {
    kubeconfig, requests,
    stall: () => {
      isStalled = true;
      for (const answer of held) answer.pause();
    },
    heal: () => {
      isStalled = false;
      for (const answer of held) answer.resume();
    },
  };
}
