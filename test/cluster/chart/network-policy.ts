import type { Test } from "tap";
import type { Pod, PodCluster } from "../cluster.ts";
import { PROJECT_IMAGE } from "../project-image.ts";
import { NAMESPACE, POD_LABELS } from "../webhook/installed.ts";
import { enforcePolicy, removeRules } from "./policy-rules.ts";
import type { Release } from "./release.ts";

const NODE = "/usr/local/bin/node";
/** A port that the policy does not allow, and on which no program listens. */
const OTHER_PORT = 8080;
/** A Pod that the policy must not select, although it has a label of the webhook's Pods. */
const CLIENT = {
  apiVersion: "v1", kind: "Pod",
  metadata: {
    name: "client", namespace: NAMESPACE,
    labels: { "app.kubernetes.io/name": "ack-role-resolver", "app.kubernetes.io/component": "client" },
  },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [{
      name: "webhook", image: PROJECT_IMAGE, imagePullPolicy: "Never",
      command: [NODE, "-e", "setInterval(Date, 60_000)"],
    }],
  },
};

/**
 * Tests the NetworkPolicy of the chart. The network of the node does not enforce NetworkPolicies, so the test creates
 * iptables rules from the stored policy, for the Pods that the policy selects. A rejected connection has the error
 * EHOSTUNREACH. A connection that reaches a port on which no program listens has the error ECONNREFUSED.
 */
export async function limitsTraffic(t: Test, release: Release): Promise<void> {
  const { cluster } = release;
  await cluster.apply([CLIENT]);
  await cluster.untilPods(NAMESPACE, "app.kubernetes.io/component=client", ([pod]) => pod?.isReady === true);
  const [client] = await cluster.pods(NAMESPACE, "app.kubernetes.io/component=client");
  const [webhook, ...others] = await cluster.pods(NAMESPACE, POD_LABELS);
  if (webhook === undefined || client === undefined) throw new Error("a Pod is missing");
  const open = async (from: Pod, to: string): Promise<string> => connect(cluster, from, to);
  const toOther = async (): Promise<string[]> => [
    await open(webhook, `${client.address}:${OTHER_PORT}`), await open(client, `${webhook.address}:${OTHER_PORT}`),
  ];

  t.same(await toOther(), ["ECONNREFUSED", "ECONNREFUSED"], "without rules, other ports can be reached");
  t.same(await enforcePolicy(cluster), [webhook, ...others].map(({ name }) => name).toSorted(), "the selected Pods");
  t.same(await toOther(), ["EHOSTUNREACH", "EHOSTUNREACH"], "the policy allows no other port");
  t.equal(await open(webhook, "10.96.0.1:443"), "connected", "the webhook can connect to the API server");
  t.equal(await open(client, `${webhook.address}:9443`), "connected", "Pods can connect to the port of reviews");
  t.equal(await open(client, `${webhook.address}:9444`), "connected", "Pods can connect to the port of metrics");
  t.match(await release.test(), /Phase: +Succeeded/, "the API server can connect to the webhook");
  await removeRules(cluster);
  await cluster.kubectl(["delete", "pod", "client", "-n", NAMESPACE]);
}

/** Opens a TCP connection from a Pod. Returns `connected` or the code of the error. */
async function connect(cluster: PodCluster, from: Pod, to: string): Promise<string> {
  const [host, port] = to.split(":");
  const script = `const socket = require("node:net").connect(${port}, "${host}");
    const end = (text) => { console.log(text); process.exit(); };
    socket.once("connect", () => end("connected")).once("error", ({ code }) => end(code));
    socket.setTimeout(5_000, () => end("timeout"));`;
  const { stdout, stderr } = await cluster.exec(NAMESPACE, from.name, "webhook", [NODE, "-e", script]);
  return `${stdout}${stderr}`.trim();
}
