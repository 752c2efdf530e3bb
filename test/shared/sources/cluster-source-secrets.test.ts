import { SECRETS } from "../../../shared/capa/secrets.ts";
import { test } from "tap";
import { loadCluster } from "../../../shared/sources/load-cluster.ts";
import { managedBy } from "../capa-secrets.ts";
import { definition, fakeCluster } from "../api/fake-cluster.ts";
import { eventually } from "./eventually.ts";

const SECRETS_PATH = "/api/v1/namespaces/capa-system/secrets";
const OPTIONS = { identitySecretNamespace: "capa-system" };
const PLANTED = "PLANTED-VALUE";
const secret = (version: string, keys: readonly string[]): object => ({
  metadata: {
    name: "creds", namespace: "capa-system", resourceVersion: version, managedFields: [managedBy("kubectl", keys)],
    annotations: { "kubectl.kubernetes.io/last-applied-configuration": `{"stringData": {"a": "${PLANTED}"}}` },
  },
  // A server that ignores the request for metadata sends the data too.
  data: { AccessKeyID: PLANTED },
});

test("loads only the metadata of the Secrets in one namespace, and follows their changes", async (t) => {
  const { cluster, source } = await fakeCluster(t, [], OPTIONS);
  cluster.objects.set(SECRETS_PATH, [secret("5", ["AccessKeyID"])]);
  await source.start();
  await eventually(source, () => source.inventory.includes(SECRETS));
  const secrets = source.inventory.of(SECRETS);
  const states = (): readonly string[] => (
    secrets.get("capa-system", "creds")?.keys?.map(({ state }) => state) ?? []
  );
  t.same(states(), ["present", "missing", "missing"]);
  t.notMatch(JSON.stringify(secrets.get("capa-system", "creds")), PLANTED);
  await cluster.emit(SECRETS_PATH, "MODIFIED", secret("7", ["AccessKeyID", "SecretAccessKey"]));
  await eventually(source, () => states()[1] === "present");
  await cluster.emit(SECRETS_PATH, "DELETED", secret("8", []));
  await eventually(source, () => secrets.get("capa-system", "creds") === null);
  const { accept } = cluster.watches.get(SECRETS_PATH)?.headers ?? {};
  t.equal(accept, "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
  t.same(cluster.lists.filter((path) => path.includes("secrets")).length, 1);
});

test("a source without the right to list Secrets is loaded, and its Secrets are not treated as empty", async (t) => {
  const { cluster, source } = await fakeCluster(t, [], OPTIONS);
  cluster.errors.set(SECRETS_PATH, { status: 403 });
  await source.start();
  await eventually(source, () => source.status.fault !== null);
  t.match(source.status, {
    loaded: true,
    fault: /not allowed to list secrets in the namespace capa-system.*rbac --identity-secret-namespace capa-system/,
  });
  t.equal(source.inventory.includes(SECRETS), false);
  t.same([...source.inventory.unlisted(SECRETS)], ["Secrets in the namespace capa-system"]);
});

test("a source without --identity-secret-namespace does not read Secrets", async (t) => {
  const { cluster, source } = await fakeCluster(t, [definition("s3.services.k8s.aws", "Bucket")]);
  await source.start();
  t.equal(source.inventory.includes(SECRETS), false);
  t.notMatch(cluster.lists.join(" "), "secrets");
});

test("loadCluster passes no Secret to the function that collects objects", async (t) => {
  const { cluster } = await fakeCluster(t, []);
  cluster.objects.set(SECRETS_PATH, [secret("5", ["AccessKeyID"])]);
  const { inventory, objects } = await loadCluster({
    runtime: "ack", api: cluster.server.api, clock: cluster.clock, resources: { extraGroups: [] }, ...OPTIONS,
    collect: (object) => object,
  });
  t.not(inventory.of(SECRETS).get("capa-system", "creds"), null);
  t.notMatch(JSON.stringify(objects), PLANTED);
});
