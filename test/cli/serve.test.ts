import { type Test, test } from "tap";
import { runServer } from "../../cli/serve.ts";
import { type Flags, readSettings } from "../../shared/server/read-settings.ts";
import type { InventorySource } from "../../shared/sources/source.ts";
import { BUCKETS, definition, DEFINITIONS, FakeCluster, NAMESPACES_PATH } from "../shared/api/fake-cluster.ts";
import { eventually } from "../shared/sources/eventually.ts";
import { captureOutput } from "./run-command.ts";

const CAPA = "infrastructure.cluster.x-k8s.io";
const CLUSTERS = `/apis/${CAPA}/v1beta2/awsclusters`;

/** Returns the collections that a webhook with the flags lists until `isDone`, if it has no right to those of CAPA. */
async function listsOf(t: Test, flags: Flags, isDone: (source: InventorySource) => boolean): Promise<string> {
  const cluster = new FakeCluster();
  await cluster.start();
  t.teardown(() => cluster.server.stop());
  cluster.objects.set(DEFINITIONS, [
    definition("s3.services.k8s.aws", "Bucket"), definition(CAPA, "AWSCluster", { versions: ["v1beta2"] }),
  ]);
  cluster.objects.set(NAMESPACES_PATH, [{ metadata: { name: "team-a", resourceVersion: "1" } }]);
  cluster.errors.set(CLUSTERS, { status: 403 });
  const kubeconfig = {
    apiVersion: "v1", kind: "Config", "current-context": "c", users: [{ name: "u", user: {} }],
    clusters: [{ name: "c", cluster: { server: cluster.server.url } }],
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
  };
  const file = `${t.testdir({ kubeconfig: JSON.stringify(kubeconfig) })}/kubeconfig`;
  const given = { cluster: true, kubeconfig: file, tlsDir: "unused", logLevel: "error", ...flags };
  const stopped = new Error("stopped");
  await t.rejects(captureOutput((io) => (
    runServer("webhook", readSettings("webhook", given, {}), io, async ({ source }) => {
      await eventually(source, () => isDone(source));
      throw stopped;
    })
  )), stopped);
  return cluster.lists.join(" ");
}

test("a webhook with --no-capa becomes ready without rights to CAPA, and lists none of its objects", async (t) => {
  const lists = await listsOf(t, { noCapa: true }, ({ status }) => status.loaded);
  t.match(lists, BUCKETS);
  t.notMatch(lists, CAPA);
});

test("a webhook without --no-capa waits for the rights to CAPA, and says so", async (t) => {
  const isDone = ({ status: { loaded, fault } }: InventorySource): boolean => (
    !loaded && fault?.includes("not allowed to list awsclusters") === true
  );
  t.match(await listsOf(t, {}, isDone), CLUSTERS);
});
