import { type Test, test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { listControllerDeployments } from "../../../shared/sources/controller-deployments.ts";
import { controllerDeployment } from "../../fixtures/controllers.ts";
import { FakeCluster } from "../cluster/fake-cluster.ts";

const ALL = "/apis/apps/v1/deployments";
const OWN = "/apis/apps/v1/namespaces/ack-system/deployments";

/** Returns the object as an item of a list, which has no type. */
function stored({ metadata = {}, spec }: JsonObject): object {
  return { metadata: Object.assign({ resourceVersion: "1" }, metadata), spec };
}

async function withDeployments(t: Test): Promise<FakeCluster> {
  const cluster = new FakeCluster();
  await cluster.start();
  t.teardown(() => cluster.server.stop());
  const items = [controllerDeployment({}), controllerDeployment({ container: { image: "nginx", args: [] } })];
  for (const path of [ALL, OWN]) cluster.objects.set(path, items.map(stored));
  return cluster;
}

test("lists the Deployments of controllers in all namespaces, or else in the namespace", async (t) => {
  const cluster = await withDeployments(t);
  const list = (): ReturnType<typeof listControllerDeployments> => (
    listControllerDeployments(cluster.server.api, "ack-system")
  );
  t.match(await list(), { deployments: [{ kind: "Deployment", metadata: { name: "ack-s3" } }], unread: null });
  t.same(cluster.lists, [`${ALL}?limit=500`]);
  cluster.errors.set(ALL, { status: 403 });
  t.equal((await list()).deployments.length, 1);
  cluster.errors.set(OWN, { status: 403 });
  t.match(await list(), {
    deployments: [],
    unread: /^not allowed to list deployments\.apps in the namespace ack-system; grant the verb list on it; API server/,
  });
});
