import { type Test, test } from "tap";
import { ALL_CLOSED, NOTHING_CLOSED } from "../../shared/core/closures.ts";
import { readSidecars } from "../../webhook/sidecar-pods.ts";
import { FakeCluster } from "../shared/api/fake-cluster.ts";

const ALL = "/api/v1/pods";
const OWN = "/api/v1/namespaces/ack-system/pods";
const CONFIG_MAPS = "/api/v1/configmaps";

function pod(name: string, container = "ack-role-resolver"): object {
  const metadata = { name, namespace: "ack-system", resourceVersion: "1" };
  return { metadata, spec: { containers: [{ name: container }] } };
}

function profile(namespace: string, data: object): object {
  return { metadata: { name: "ack-role-resolver-profile", namespace, resourceVersion: "1" }, data };
}

async function withPods(t: Test): Promise<FakeCluster> {
  const cluster = new FakeCluster();
  await cluster.start();
  t.teardown(() => cluster.server.stop());
  for (const path of [ALL, OWN]) cluster.objects.set(path, [pod("s3"), pod("web", "web")]);
  cluster.objects.set(CONFIG_MAPS, [profile("ack-role-resolver", { profile: "enforce", unmatched: "deny" })]);
  return cluster;
}

test("reads the Pods with a sidecar, and the profile of the installation by its name", async (t) => {
  const cluster = await withPods(t);
  const { pods, ...rest } = await readSidecars(cluster.server.api, "ack-system");
  t.match(pods, [{ apiVersion: "v1", kind: "Pod", metadata: { name: "s3" } }]);
  t.same([pods.length, rest], [1, {
    closures: { ...NOTHING_CLOSED, unmatched: true }, profileNamespaces: ["ack-role-resolver"], isRead: true,
  }]);
  t.same(cluster.lists.toSorted(), [
    `${CONFIG_MAPS}?fieldSelector=metadata.name%3Dack-role-resolver-profile&limit=500`, `${ALL}?limit=500`,
  ]);
  const strict = profile("team-a", { profile: "strict" });
  cluster.objects.set(CONFIG_MAPS, [...(cluster.objects.get(CONFIG_MAPS) ?? []), strict]);
  const { closures, profileNamespaces } = await readSidecars(cluster.server.api, "ack-system");
  t.same(profileNamespaces, ["team-a"]);
  t.same(closures, ALL_CLOSED, "another ConfigMap of the name never opens anything");
});

test("reads the Pods of the controllers without the right to others, and says what is missing", async (t) => {
  const cluster = await withPods(t);
  cluster.errors.set(ALL, { status: 403 });
  t.match(await readSidecars(cluster.server.api, "ack-system"), { pods: [{ metadata: { name: "s3" } }], isRead: true });
  cluster.errors.set(OWN, { status: 403 });
  t.match(await readSidecars(cluster.server.api, "ack-system"), { pods: [], isRead: false });
  cluster.errors.clear();
  cluster.errors.set(CONFIG_MAPS, { status: 403 });
  t.match(await readSidecars(cluster.server.api, "ack-system"), {
    pods: [{}], closures: NOTHING_CLOSED, profileNamespaces: null, isRead: false,
  });
});
