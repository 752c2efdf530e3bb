import { type Test, test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { listControllerObjects } from "../../../cli/input/controller-objects.ts";
import { controllerDeployment } from "../../fixtures/controllers.ts";
import { FakeCluster } from "../../shared/api/fake-cluster.ts";

const ALL = "/apis/apps/v1/deployments";
const ACCOUNTS = "/api/v1/namespaces/ack-system/serviceaccounts";
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
  const account = { apiVersion: "v1", metadata: { name: "ack-s3", namespace: "ack-system" }, secrets: [] };
  cluster.objects.set(ACCOUNTS, [stored(account)]);
  for (const path of [ALL, OWN]) cluster.objects.set(path, items.map(stored));
  return cluster;
}

test("lists Deployments of controllers in all namespaces or else in one, and its service accounts", async (t) => {
  const cluster = await withDeployments(t);
  const list = (): ReturnType<typeof listControllerObjects> => (
    listControllerObjects(cluster.server.api, "ack-system")
  );
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "ack-s3" } };
  t.match(await list(), { objects: [{ kind: "Deployment", metadata: { name: "ack-s3" } }, account], unread: null });
  t.same(cluster.lists.toSorted(), [`${ACCOUNTS}?limit=500`, `${ALL}?limit=500`]);
  cluster.errors.set(ALL, { status: 403 });
  t.match(await list(), { objects: [{ kind: "Deployment" }, account], unread: null });
  cluster.errors.set(OWN, { status: 403 });
  t.match(await list(), {
    objects: [account],
    unread: /^not allowed to list deployments\.apps in the namespace ack-system; grant the verb list on it; API server/,
  });
});
