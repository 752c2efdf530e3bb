import type { Test } from "tap";
import { field, stringAt } from "../../../shared/formats/json.ts";
import type { ApiResponse } from "../apiserver/api-request.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import type { ServerProcess } from "../server-process.ts";
import { installWebhook } from "./installed-webhook.ts";

const NAMESPACES = "/api/v1/namespaces";
const MAPS = `${NAMESPACES}/ack-system/configmaps`;
const ACCOUNTS = `${MAPS}/ack-role-account-map`;
const ACCOUNT = "111122223333";
const MERGE_PATCH = { "content-type": "application/merge-patch+json" };
const NAMESPACE_CONTROLLER = { "impersonate-user": "system:serviceaccount:kube-system:namespace-controller" };

onCluster("the CARM ConfigMaps on a real API server", async (t, cluster) => {
  const webhook = await installWebhook(t, cluster, ["--mode", "carm"]);
  await t.test("kubectl prints every fault of a CARM map", async (tt) => printsFaults(tt, cluster));
  await t.test("denies a namespace whose annotation names a map key that has no role", async (tt) =>
    deniesUnknownKey(tt, cluster),
  );
  await t.test("denies the removal of a map or key that a namespace uses", async (tt) =>
    deniesRemovalInUse(tt, cluster),
  );
  await t.test("allows the namespace controller to delete a map in use", async (tt) => allowsCleanup(tt, cluster));
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

const FAULTS = `Warning: CM-04 data[s4.${ACCOUNT}]: "s4" is not an ACK service. Write s3.${ACCOUNT} if you meant the \
service s3.
The ConfigMap "ack-role-account-map" is invalid: 
* data[${ACCOUNT}]: CM-01 "arn:aws:iam::${ACCOUNT}:root" is not the ARN of an IAM role: its resource is "root", not \
role/NAME. Write the role's ARN as IAM shows it: arn:aws:iam::ACCOUNT:role/NAME.
* data[444455556666]: CM-01 the key has no role. Set the value of the key to the role's ARN, or remove the key if no \
namespace annotation names it.
* data[s3]: CM-01 the value looks like YAML or JSON, but controllers parse the whole value as one ARN. Write one \
key for each role. If services use different roles, start each key with the service: s3.111122223333.
`;

const ROLE = `arn:aws:iam::${ACCOUNT}:role/team-a`;

async function printsFaults(t: Test, cluster: Cluster): Promise<void> {
  const faulty = {
    [ACCOUNT]: `arn:aws:iam::${ACCOUNT}:root`,
    "444455556666": "",
    s3: `${ACCOUNT}: ${ROLE}\n`,
    [`s4.${ACCOUNT}`]: ROLE,
  };
  const denied = await cluster.kubectl(["apply", "-f", "-"], {
    input: JSON.stringify(map("ack-role-account-map", faulty)),
  });
  t.equal(denied.code, 1);
  t.equal(denied.stderr, FAULTS);
  const applied = await cluster.kubectl(["apply", "-f", "-"], {
    input: JSON.stringify(map("ack-role-account-map", { [ACCOUNT]: ROLE }, { labels: { carm: "yes" } })),
  });
  t.strictSame(applied, { code: 0, stdout: "configmap/ack-role-account-map created\n", stderr: "" });
}

const UNKNOWN = `The Namespace "team-a" is invalid: metadata.annotations[services.k8s.aws/owner-account-id]: NS-03 \
ConfigMap ack-system/ack-role-account-map has no role for key "777788889999". First add the key and the role's ARN to \
the ConfigMap, or correct the annotation of the namespace.
`;

async function deniesUnknownKey(t: Test, cluster: Cluster): Promise<void> {
  await cluster.request("POST", NAMESPACES, { metadata: { name: "team-a" } });
  const annotate = (id: string): readonly string[] => [
    "annotate",
    "namespace",
    "team-a",
    `services.k8s.aws/owner-account-id=${id}`,
  ];
  t.ok(
    await until(
      async () => (await cluster.kubectl([...annotate("777788889999"), "--dry-run=server"])).stderr === UNKNOWN),
    "the inventory has the map",
  );
  const denied = await cluster.kubectl(annotate("777788889999"));
  t.equal(denied.code, 1);
  t.equal(denied.stderr, UNKNOWN);
  t.equal((await cluster.kubectl(annotate(ACCOUNT))).stderr, "");
}

async function deniesRemovalInUse(t: Test, cluster: Cluster): Promise<void> {
  const buckets = "/apis/s3.services.k8s.aws/v1alpha1/namespaces/team-a/buckets";
  await cluster.request("POST", buckets, {
    apiVersion: "s3.services.k8s.aws/v1alpha1",
    kind: "Bucket",
    metadata: { name: "b1" },
    spec: { name: "b1" },
  });
  const use = "is used by 1 namespace: team-a; 1 resource: Bucket team-a/b1.";
  const remove = async (): Promise<ApiResponse> =>
    cluster.request("PATCH", `${ACCOUNTS}?dryRun=All`, { data: { [ACCOUNT]: null } }, { headers: MERGE_PATCH });
  t.ok(
    await until(async () => (stringAt((await remove()).body, "message") ?? "").includes(use)),
    "the inventory has the users of the key",
  );
  t.match(
    stringAt((await remove()).body, "message"),
    `CM-08 data[${ACCOUNT}]: the key loses its role, but ${use}`,
  );
  const moved = await cluster.request(
    "PATCH",
    ACCOUNTS,
    { data: { [ACCOUNT]: "arn:aws:iam::444455556666:role/b" } },
    { headers: MERGE_PATCH },
  );
  t.equal(moved.status, 422);
  const swap = JSON.stringify({ data: { [ACCOUNT]: `${ROLE}-2` } });
  const swapped = await cluster.kubectl(["-n", "ack-system", "patch", "configmap", "ack-role-account-map", "-p", swap]);
  t.equal(swapped.stderr, "", "another role in the same account");

  const deleted = await cluster.kubectl(["-n", "ack-system", "delete", "configmap", "ack-role-account-map"]);
  t.equal(deleted.code, 1);
  t.equal(
    deleted.stderr,
    `The ConfigMap "ack-role-account-map" is invalid: data[${ACCOUNT}]: CM-08 the key loses its role, but ${use} `
      + "Delete the resources first, or annotate their namespaces with another key whose role is in the same account. "
      + "Then change or remove the key.\n",
  );
  const collection = await cluster.request("DELETE", `${MAPS}?labelSelector=carm%3Dyes`);
  t.equal(collection.status, 422, "a request that deletes a collection is also denied");
  t.equal((await cluster.request("GET", ACCOUNTS)).status, 200);
}

async function allowsCleanup(t: Test, cluster: Cluster): Promise<void> {
  const collection = await cluster.request("DELETE", `${MAPS}?labelSelector=carm%3Dyes&dryRun=All`, undefined, {
    headers: NAMESPACE_CONTROLLER,
  });
  t.equal(collection.status, 200, stringAt(collection.body, "message") ?? "");
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
  const before = webhook.log.length;
  await writeOthers(t, cluster);
  const reviews = (): number =>
    webhook.log.slice(before).filter((line) => field(line, "path") === "/validate/configmaps").length;
  await cluster.request(
    "PATCH",
    `${ACCOUNTS}?dryRun=All`,
    { metadata: { labels: { probe: "1" } } },
    { headers: MERGE_PATCH },
  );
  t.ok(await until(async () => reviews() > 0), "the webhook receives the review of a CARM map");
  t.equal(reviews(), 1);
}

async function failsWhileStopped(t: Test, cluster: Cluster, webhook: ServerProcess): Promise<void> {
  await webhook.stop("SIGKILL");
  await writeOthers(t, cluster);
  const denied = await cluster.request(
    "PATCH",
    ACCOUNTS,
    { metadata: { labels: { a: "b" } } },
    { headers: MERGE_PATCH },
  );
  t.equal(denied.status, 500);
  t.match(stringAt(denied.body, "message"), /failed calling webhook "configmaps\.validate\.ack-role-resolver\.io"/);
  t.equal((await cluster.request("POST", MAPS, map("ack-role-team-map", {}))).status, 500);
  t.equal((await cluster.request("DELETE", ACCOUNTS)).status, 500);
}
