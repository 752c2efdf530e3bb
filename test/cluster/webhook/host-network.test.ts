import { field, stringAt } from "../../../shared/formats/json.ts";
import { untilCalled } from "../../real/webhook/installed-webhook.ts";
import { startCluster, withNode } from "../on-node.ts";
import { projectArchive } from "../project-image.ts";
import { DEPLOYMENT, installWebhook, NAMESPACE, POD_LABELS } from "./installed.ts";

const VALUES = ["hostNetwork=true", "replicas=1", "ports.webhook=19443", "ports.health=19444"];
const NODE = "/usr/local/bin/node";

withNode("a webhook in the network of its node", async (t, found) => {
  const archive = projectArchive(t, found.programs);
  const cluster = await startCluster(t, found);
  await cluster.loadArchive(await archive);
  // Resolves when the API server has called the webhook.
  await installWebhook(t, cluster, VALUES);
  const [pod] = await cluster.pods(NAMESPACE, POD_LABELS);
  const node: unknown = JSON.parse(await cluster.kubectl(["get", "nodes", "-o", "jsonpath={.items[0]}"]));
  const addresses = field(field(node, "status"), "addresses");
  t.match(JSON.stringify(addresses), `"${pod?.address}"`, "the Pod has the address of the node");
  const slices: unknown = JSON.parse(await cluster.kubectl([
    "get", "endpointslices", "-n", NAMESPACE, "-l", `kubernetes.io/service-name=${DEPLOYMENT}`, "-o", "json",
  ]));
  t.match(slices, { items: [{ ports: [{ port: 19_443 }], endpoints: [{ addresses: [pod?.address] }] }] });
  const script = 'fetch("http://127.0.0.1:19444/readyz").then(async (r) => console.log(r.status, await r.text()))';
  const probe = await cluster.exec(NAMESPACE, pod?.name ?? "", "webhook", [NODE, "-e", script]);
  t.equal(probe.stdout, "200 ok\n\n");

  await t.test("an update stops the replica first, because a node has its ports once", async (tt) => {
    await cluster.kubectl(["rollout", "restart", `deployment/${DEPLOYMENT}`, "-n", NAMESPACE]);
    await cluster.untilRolledOut(NAMESPACE, DEPLOYMENT);
    await tt.resolves(untilCalled(cluster.api));
    const pods = (await cluster.pods(NAMESPACE, POD_LABELS)).filter((one) => !one.isTerminating);
    tt.equal(pods.length, 1);
    tt.not(pods[0]?.uid, pod?.uid);
  });
  await t.test("a second replica waits for another node, and the first one continues", async (tt) => {
    await cluster.kubectl(["scale", "deployment", DEPLOYMENT, "-n", NAMESPACE, "--replicas=2"]);
    const events = ["get", "events", "-n", NAMESPACE, "--field-selector", "reason=FailedScheduling", "-o", "json"];
    await cluster.untilPods(NAMESPACE, POD_LABELS, (pods) => pods.length === 2);
    const waiting = await cluster.kubectl(["wait", "pod", "-n", NAMESPACE, "-l", POD_LABELS,
      "--field-selector=status.phase=Pending", "--for=condition=PodScheduled=False", "--timeout=60s"]);
    tt.match(waiting, "condition met");
    const stored: unknown = JSON.parse(await cluster.kubectl(events));
    const items = field(stored, "items");
    tt.match(stringAt(Array.isArray(items) ? items[0] : null, "message"), "didn't have free ports");
    await tt.resolves(untilCalled(cluster.api));
  });
});
