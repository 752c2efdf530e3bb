import { REFERRERS } from "../../../shared/capa/referrers.ts";
import { IDENTITIES } from "../../../shared/capa/identities.ts";
import { test } from "tap";
import { definition, fakeCluster } from "../api/fake-cluster.ts";
import { eventually } from "./eventually.ts";

const CAPA = "infrastructure.cluster.x-k8s.io";
const ROLES = `/apis/${CAPA}/v1beta2/awsclusterroleidentitys`;
const CLUSTERS = `/apis/${CAPA}/v1beta2/awsclusters`;
const DEFINITIONS = [
  definition(CAPA, "AWSClusterRoleIdentity", { scope: "Cluster", versions: ["v1beta2"] }),
  definition(CAPA, "AWSCluster", { versions: ["v1beta2"] }),
];
const REFERENCE = { kind: "AWSClusterRoleIdentity", name: "r" };
const role = { metadata: { name: "r", resourceVersion: "5" }, spec: { allowedNamespaces: { selector: {} } } };
const awsCluster = {
  metadata: { name: "c", namespace: "ns1", resourceVersion: "6" }, spec: { identityRef: REFERENCE },
};

test("loads the identities and their referrers of a cluster that has CAPA, and follows their changes", async (t) => {
  const { cluster, source } = await fakeCluster(t, DEFINITIONS);
  cluster.objects.set(ROLES, [role]);
  cluster.objects.set(CLUSTERS, [awsCluster]);
  await source.start();
  const identities = source.inventory.of(IDENTITIES);
  const referrers = source.inventory.of(REFERRERS);
  t.match(identities.get(REFERENCE, "ns1"), { name: "r", resourceVersion: "5", allowedNamespaces: { type: "all" } });
  t.equal(referrers.ofIdentity(REFERENCE).size, 1);
  t.ok(source.inventory.includes(IDENTITIES) && source.inventory.includes(REFERRERS));
  await cluster.emit(ROLES, "MODIFIED", {
    metadata: { name: "r", resourceVersion: "7" }, spec: { allowedNamespaces: { list: [] } },
  });
  await eventually(source, () => identities.get(REFERENCE, "ns1")?.resourceVersion === "7");
  t.match(identities.get(REFERENCE, "ns1"), { allowedNamespaces: { type: "some" } });
  await cluster.emit(CLUSTERS, "DELETED", awsCluster);
  await eventually(source, () => referrers.size === 0);
});

test("is not loaded until the identities are listed", async (t) => {
  const { cluster, source } = await fakeCluster(t, DEFINITIONS);
  cluster.errors.set(ROLES, { status: 403 });
  const started = source.start();
  started.catch(() => undefined);
  await eventually(source, () => source.status.fault !== null && source.inventory.includes(REFERRERS));
  t.match(source.status, { loaded: false, fault: /not allowed to list awsclusterroleidentitys/ });
  t.same([...source.inventory.unlisted(IDENTITIES)], [`AWSClusterRoleIdentity.${CAPA}`]);
  t.equal(source.inventory.includes(IDENTITIES), false);
});

test("a cluster without CAPA has no identities, and a source without resources does not read them", async (t) => {
  const { source } = await fakeCluster(t, []);
  await source.start();
  t.equal(source.inventory.includes(IDENTITIES), true);
  t.equal(source.inventory.of(IDENTITIES).size, 0);
  const { cluster, source: ofGrants } = await fakeCluster(t, DEFINITIONS, { resources: undefined });
  await ofGrants.start();
  t.equal(ofGrants.inventory.includes(IDENTITIES), false);
  t.equal(ofGrants.inventory.includes(REFERRERS), false);
  t.notMatch(cluster.lists.join(" "), CAPA);
});

test("a source for a sidecar loads the identities, but not the objects that refer to them", async (t) => {
  const { cluster, source } = await fakeCluster(t, DEFINITIONS, { resources: undefined, identities: true });
  cluster.objects.set(ROLES, [role]);
  await source.start();
  t.match(source.inventory.of(IDENTITIES).get(REFERENCE, "ns1"), { name: "r", resourceVersion: "5" });
  t.equal(source.inventory.includes(IDENTITIES), true);
  t.equal(source.inventory.includes(REFERRERS), false);
  t.notMatch(cluster.lists.join(" "), CLUSTERS);
});

test("a source without CAPA is loaded without any right to its kinds, as if CAPA were not installed", async (t) => {
  const { cluster, source } = await fakeCluster(t, [...DEFINITIONS, definition("s3.services.k8s.aws", "Bucket")], {
    without: new Set(["capa"]),
  });
  for (const path of [ROLES, CLUSTERS]) cluster.errors.set(path, { status: 403 });
  cluster.objects.set(CLUSTERS, [awsCluster]);
  await source.start();
  t.match(source.status, { loaded: true, fault: null });
  t.match(source.progress, { faulty: 0 });
  t.equal(source.positionOf("AWSCluster"), null);
  t.ok(source.positionOf("Bucket"), "the other kinds are loaded");
  const { inventory } = source;
  t.ok(inventory.includes(IDENTITIES) && inventory.includes(REFERRERS));
  t.same([inventory.of(IDENTITIES).size, inventory.of(REFERRERS).size], [0, 0]);
  const requested = [...cluster.lists, ...cluster.watches.keys()].join(" ");
  t.notMatch(requested, CAPA);
  t.match(requested, "buckets");
});
