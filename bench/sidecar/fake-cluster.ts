import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import path from "node:path";
import { makeCertificates } from "../../certs/make.ts";
import { boundAddress } from "../../shared/server/listen-address.ts";

interface FakeCluster {
  readonly kubeconfig: string;
  close(): void;
}

/** The number of selectors, which equals the number of namespaces. */
const SELECTORS = 10;

/**
 * Starts a fake API server over TLS. The server lists a few selectors, and its objects never change. Writes a
 * kubeconfig into `folder`.
 */
export async function startFakeCluster(folder: string): Promise<FakeCluster> {
  const numbers = Array.from({ length: SELECTORS }, (_, i) => i);
  const collections = new Map<string, readonly object[]>([
    ["/apis/services.k8s.aws/v1alpha1/iamroleselectors", numbers.map((i) => ({
      metadata: { name: `s-${i}`, uid: `s-${i}`, resourceVersion: "1" },
      spec: { arn: `arn:aws:iam::111122223333:role/team-${i}`, namespaceSelector: { names: [`team-${i}`] } },
    }))],
    ["/api/v1/namespaces", numbers.map((i) => ({
      metadata: { name: `team-${i}`, uid: `team-${i}`, resourceVersion: "1" },
    }))],
    ["/apis/apiextensions.k8s.io/v1/customresourcedefinitions", []],
  ]);
  const { ca, cert, key } = await makeCertificates({ hosts: ["127.0.0.1"], now: new Date() });
  const server = createServer({ cert, key }, (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "https://127.0.0.1");
    const items = collections.get(pathname);
    response.setHeader("content-type", "application/json");
    if (items === undefined) response.writeHead(404).end();
    else if (searchParams.has("watch")) response.flushHeaders();
    else response.end(JSON.stringify({ kind: "List", apiVersion: "v1", metadata: { resourceVersion: "1" }, items }));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const kubeconfig = path.join(folder, "kubeconfig");
  const cluster = {
    "server": `https://127.0.0.1:${boundAddress(server).port}`,
    "certificate-authority-data": Buffer.from(ca).toString("base64"),
  };
  await writeFile(kubeconfig, JSON.stringify({
    "apiVersion": "v1", "kind": "Config", "current-context": "c",
    "contexts": [{ name: "c", context: { cluster: "c", user: "u" } }],
    "clusters": [{ name: "c", cluster }], "users": [{ name: "u", user: { token: "t" } }],
  }));
  return { kubeconfig, close: () => { server.close(); server.closeAllConnections(); } };
}
