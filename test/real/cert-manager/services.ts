import { once } from "node:events";
import { createServer } from "node:http";
import { connect } from "node:net";
import path from "node:path";
import type { Test } from "tap";
import type { Cluster } from "../apiserver/cluster.ts";
import type { Balancer } from "../webhook/certificates/balancer.ts";

/** The flags with which the API server connects to Services through the proxy of `serveServices`. */
export const SERVICE_FLAGS = [
  `--egress-selector-config-file=${path.join(import.meta.dirname, "egress-selector.yaml")}`,
];

/**
 * Connects the API server to the backends of the load balancer when the API server calls a Service, as kube-proxy does.
 * So the API server verifies the certificate for the name of the Service.
 */
export async function serveServices(t: Test, cluster: Cluster, balancer: Balancer): Promise<void> {
  const server = createServer().on("connect", (_, client) => {
    const [host = "", port] = balancer.address.split(":");
    const backend = connect(Number(port), host);
    backend.once("connect", () => client.write("HTTP/1.1 200 OK\r\n\r\n"));
    for (const [one, other] of [[client, backend], [backend, client]] as const) {
      one.on("error", () => undefined).once("close", () => other.destroy());
    }
    client.pipe(backend).pipe(client);
  }).listen(cluster.file("services.sock"));
  await once(server, "listening");
  t.teardown(() => server.close());
}
