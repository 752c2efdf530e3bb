import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { Agent, createServer, request, type Server } from "node:https";
import path from "node:path";
import type { Test } from "tap";
import { systemClock } from "../../../shared/core/clock.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import type { ServerProcess } from "../server-process.ts";
import { apply, installObjects } from "./installed-webhook.ts";

const [namespace, name] = ["ack-role-resolver", "ack-role-resolver-pending-writes"];

/** The ConfigMap of the pending writes. */
export const CONFIG_MAP = {
  metadata: { namespace, name }, path: `/api/v1/namespaces/${namespace}/configmaps/${name}`,
};

interface Replicas {
  readonly replicas: readonly ServerProcess[];
  /** Sends all later reviews to these replicas. */
  readonly use: (replicas: readonly ServerProcess[]) => void;
}

/**
 * Installs two webhooks that share their pending writes. The API server calls them in turn. The second one uses the
 * kubeconfig of `other`.
 */
export async function installReplicas(
  t: Test, cluster: Cluster, flags: readonly string[] = [], other: Pick<Cluster, "kubeconfig"> = cluster,
): Promise<Replicas> {
  const installed = await installObjects(t, cluster, ["--namespace", namespace, ...flags]);
  const replicas = [await installed.start(), await installed.start(other)];
  let used: readonly ServerProcess[] = replicas;
  const server = await balancer(installed.certificates, () => used);
  await installed.register(await listen(t, server));
  await installSlowWebhook(t, cluster, installed.certificates);
  return { replicas, use: (some) => void (used = some) };
}

async function listen(t: Test, server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server, "listening");
  const address = server.address();
  return `127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
}

async function certificate(dir: string): Promise<{ readonly cert: Buffer; readonly key: Buffer }> {
  const [cert, key] = await Promise.all(["tls.crt", "tls.key"].map((file) => readFile(path.join(dir, file))));
  if (cert === undefined || key === undefined) throw new Error("no certificate");
  return { cert, key };
}

/** Returns a server that forwards each request to the next replica. */
async function balancer(dir: string, replicas: () => readonly ServerProcess[]): Promise<Server> {
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false });
  let requests = 0;
  // Longer than the API server keeps idle connections.
  return createServer({ ...await certificate(dir), keepAliveTimeout: 120_000 }, (incoming, response) => {
    const used = replicas();
    const replica = used[requests++ % used.length];
    const { method, headers, url } = incoming;
    const forwarded = request(`https://${replica?.address}${url}`, { method, headers, agent });
    forwarded.once("response", (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(response);
    });
    forwarded.once("error", () => response.destroy());
    incoming.pipe(forwarded);
  });
}

const SLOW_MS = 1_500;

/**
 * Registers another validating webhook for IAMRoleSelectors, which answers after 1.5 s. It denies the selectors that
 * have the label `deny: "true"`.
 */
async function installSlowWebhook(t: Test, cluster: Cluster, dir: string): Promise<void> {
  const server = createServer(await certificate(dir), (incoming, response) => {
    const answerTo = (text: string): void => {
      const uid = /"uid":"([^"]*)"/.exec(text)?.[1] ?? "";
      const allowed = !text.includes('"deny":"true"');
      const answer = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: { uid, allowed } };
      systemClock.schedule(SLOW_MS, () => response.end(JSON.stringify(answer)));
    };
    const chunks: string[] = [];
    incoming.setEncoding("utf8").on("data", (chunk: string) => chunks.push(chunk));
    incoming.on("end", () => answerTo(chunks.join("")));
  });
  const address = await listen(t, server);
  const ca = await readFile(path.join(dir, "ca.crt"));
  await apply(cluster, [{
    apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingWebhookConfiguration", metadata: { name: "slow" },
    webhooks: [{
      name: "slow.example.com", admissionReviewVersions: ["v1"], sideEffects: "None", failurePolicy: "Fail",
      timeoutSeconds: 10, clientConfig: { url: `https://${address}/`, caBundle: ca.toString("base64") },
      rules: [{
        apiGroups: ["services.k8s.aws"], apiVersions: ["*"], resources: ["iamroleselectors"],
        operations: ["CREATE", "UPDATE", "DELETE"],
      }],
    }],
  }]);
}
