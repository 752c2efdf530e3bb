import type { Test } from "tap";
import { field, stringAt } from "../../../shared/formats/json.ts";
import type { ApiResponse } from "../apiserver/api-request.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import type { ServerProcess } from "../server-process.ts";
import { bucket, buckets, patch } from "./buckets.ts";
import { installWebhook } from "./installed-webhook.ts";
import { answerOf, create, isDenied, NAMESPACE_CONTROLLER, NAMESPACES } from "./requests.ts";

const MAPS = `${NAMESPACES}/ack-system/configmaps`;
const ACCOUNTS = `${MAPS}/ack-role-account-map`;
const ACCOUNT = "111122223333";
const MERGE_PATCH = { "content-type": "application/merge-patch+json" };

onCluster("the CARM ConfigMaps on a real API server", async (t, cluster) => {
  const webhook = await installWebhook(t, cluster, ["--mode", "carm"]);
  await t.test("denies a fault, and the removal of a map, key or annotation that a resource uses", async (tt) =>
    deniesRemovalInUse(tt, cluster),
  );
  await t.test("receives no review of a ConfigMap that is not a CARM map", async (tt) =>
    ignoresOthers(tt, cluster, webhook),
  );
  await t.test("while the webhook is stopped, the API server rejects only changes of CARM maps", async (tt) =>
    failsWhileStopped(tt, cluster, webhook),
  );
});

function map(name: string, data: object, metadata: object = {}): object {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "ack-system", ...metadata }, data };
}

const ROLE = `arn:aws:iam::${ACCOUNT}:role/team-a`;

async function deniesRemovalInUse(t: Test, cluster: Cluster): Promise<void> {
  isDenied(t, await cluster.request("POST", MAPS, map("ack-role-account-map", { [ACCOUNT]: "" })), "CM-01");
  const input = JSON.stringify(map("ack-role-account-map", { [ACCOUNT]: ROLE }, { labels: { carm: "yes" } }));
  const applied = await cluster.kubectl(["apply", "-f", "-"], { input });
  t.strictSame(applied, { code: 0, stdout: "configmap/ack-role-account-map created\n", stderr: "" });
  const annotations = { "services.k8s.aws/owner-account-id": ACCOUNT };
  const annotated = async (): Promise<boolean> => (
    (await cluster.request("POST", NAMESPACES, { metadata: { name: "team-a", annotations } })).status === 201
  );
  t.ok(await until(annotated), "the inventory has the map");
  await create(cluster, buckets("team-a"), bucket("b1"));
  const change = (role: string | null, query = ""): Promise<ApiResponse> => (
    patch(cluster, `${ACCOUNTS}${query}`, { data: { [ACCOUNT]: role } })
  );
  const isInUse = async (): Promise<boolean> => (
    answerOf(await change(null, "?dryRun=All")).includes("Bucket team-a/b1")
  );
  t.ok(await until(isInUse), "the inventory has the users of the key");
  isDenied(t, await change(null), "CM-08");
  const deleted = await cluster.kubectl(["-n", "ack-system", "delete", "configmap", "ack-role-account-map"]);
  t.match(deleted, { code: 1, stderr: /CM-08 the key loses its role/ });
  for (const path of ["team-a", "team-a/status"]) {
    for (const value of [null, ""]) {
      const annotation = { metadata: { annotations: { "services.k8s.aws/owner-account-id": value } } };
      isDenied(t, await patch(cluster, `${NAMESPACES}/${path}`, annotation), "NS-04");
    }
  }
  const collection = `${MAPS}?labelSelector=carm%3Dyes`;
  isDenied(t, await cluster.request("DELETE", collection), "CM-08");
  const cleanup = await cluster.request("DELETE", `${collection}&dryRun=All`, undefined, NAMESPACE_CONTROLLER);
  t.match(answerOf(cleanup), /^200 /, "the namespace controller");
}

/**
 * Writes and deletes ConfigMaps that are not CARM maps: ConfigMaps with other names, and ConfigMaps with the names of
 * the maps in another namespace.
 */
async function writeOthers(t: Test, cluster: Cluster): Promise<void> {
  const elsewhere = `${NAMESPACES}/team-a/configmaps`;
  const requests: readonly (readonly [status: number, method: string, path: string, body?: object])[] = [
    [201, "POST", MAPS, { metadata: { name: "settings", labels: { other: "yes" } } }],
    [201, "POST", MAPS, { metadata: { generateName: "ack-role-account-map-", labels: { other: "yes" } } }],
    [200, "PATCH", `${MAPS}/settings`, { data: { a: "b" } }],
    [200, "PUT", `${MAPS}/settings`, { metadata: { name: "settings", labels: { other: "yes" } }, data: { a: "c" } }],
    [200, "DELETE", `${MAPS}/settings`],
    [200, "DELETE", `${MAPS}?labelSelector=other%3Dyes`],
    [201, "POST", elsewhere, { metadata: { name: "ack-role-account-map" }, data: { a: "" } }],
    [200, "DELETE", `${elsewhere}/ack-role-account-map`],
  ];
  for (const [status, method, path, body] of requests) {
    const response = await cluster.request(method, path, body, method === "PATCH" ? { headers: MERGE_PATCH } : {});
    t.equal(response.status, status, `${method} ${path}: ${stringAt(response.body, "message") ?? ""}`);
  }
}

async function ignoresOthers(t: Test, cluster: Cluster, webhook: ServerProcess): Promise<void> {
  const { length: before } = await webhook.settledLog();
  await writeOthers(t, cluster);
  const reviews = (): number =>
    webhook.log.slice(before).filter((line) => field(line, "path") === "/validate/configmaps").length;
  await patch(cluster, `${ACCOUNTS}?dryRun=All`, { metadata: { labels: { probe: "1" } } });
  await webhook.settledLog();
  t.equal(reviews(), 1, "only the review of a CARM map");
}

async function failsWhileStopped(t: Test, cluster: Cluster, webhook: ServerProcess): Promise<void> {
  await webhook.stop("SIGKILL");
  await writeOthers(t, cluster);
  const denied = await patch(cluster, ACCOUNTS, { metadata: { labels: { a: "b" } } });
  t.equal(denied.status, 500);
  t.match(stringAt(denied.body, "message"), /failed calling webhook "configmaps\.validate\.ack-role-resolver\.io"/);
  t.equal((await cluster.request("POST", MAPS, map("ack-role-team-map", {}))).status, 500);
  t.equal((await cluster.request("DELETE", ACCOUNTS)).status, 500);
}
