import { CARM_MAPS, OTHER_CARM_MAPS } from "../../../shared/carm/map-store.ts";
import { test } from "tap";
import type { ClusterSourceOptions } from "../../../shared/sources/cluster-source.ts";
import { fakeCluster } from "../api/fake-cluster.ts";
import { eventually } from "./eventually.ts";

const MAPS = "/api/v1/namespaces/ack/configmaps";
const map = (name: string, data: object): object => ({
  metadata: { name, namespace: "ack", resourceVersion: "3", annotations: { large: "x" } }, data,
});
const carmMaps = (isRequired: boolean): Partial<ClusterSourceOptions> => ({
  resources: undefined, carmMaps: { namespace: "ack", isRequired },
});

test("lists and watches each CARM map by its name", async (t) => {
  const { cluster, source } = await fakeCluster(t, [], carmMaps(true));
  await source.start();
  await cluster.until(() => cluster.watches.has(MAPS));
  t.same(cluster.lists.filter((list) => list.startsWith(MAPS)).toSorted(), [
    `${MAPS}?fieldSelector=metadata.name%3Dack-role-account-map&limit=500`,
    `${MAPS}?fieldSelector=metadata.name%3Dack-role-team-map&limit=500`,
  ]);
  t.match(cluster.watches.get(MAPS)?.query, {
    fieldSelector: /^metadata\.name=ack-role-(account|team)-map$/,
    watch: "true",
  });
  t.equal(source.inventory.includes(CARM_MAPS), true, "the inventory includes the state of maps that do not exist");
  await cluster.emit(MAPS, "ADDED", map("ack-role-team-map", { payments: "arn:aws:iam::111122223333:role/payments" }));
  await eventually(source, () => source.inventory.of(CARM_MAPS).data("ack", "ack-role-team-map") !== null);
  t.same([...(source.inventory.of(CARM_MAPS).data("ack", "ack-role-team-map") ?? [])], [
    ["payments", "arn:aws:iam::111122223333:role/payments"],
  ]);
  await cluster.emit(MAPS, "DELETED", map("ack-role-team-map", {}));
  await eventually(source, () => source.inventory.of(CARM_MAPS).data("ack", "ack-role-team-map") === null);
});

test("the inventory is loaded even if optional CARM maps cannot be listed", async (t) => {
  const { cluster, source } = await fakeCluster(t, [], carmMaps(false));
  cluster.errors.set(MAPS, { status: 403 });
  await source.start();
  const fault = (): string => source.status.fault ?? "";
  await eventually(source, () => fault().includes("team-map") && fault().includes("account-map"));
  t.equal(source.status.loaded, true);
  t.match(fault(), "not allowed to list configmaps named ack-role-account-map in the namespace ack; grant this user ");
  t.equal(source.inventory.includes(CARM_MAPS), false);
  t.same([...source.inventory.unlisted(CARM_MAPS)].toSorted(), [
    "ack/ack-role-account-map",
    "ack/ack-role-team-map",
  ]);
});

test("the inventory is not loaded while required CARM maps cannot be listed", async (t) => {
  const { cluster, source } = await fakeCluster(t, [], carmMaps(true));
  cluster.errors.set(MAPS, { status: 403 });
  source.start().catch(() => undefined);
  await eventually(source, () => source.status.fault !== null);
  t.equal(source.status.loaded, false);
});

test("lists the CARM maps of all namespaces by name, and is loaded even if the user may not list them", async (t) => {
  const all = "/api/v1/configmaps";
  const options = { resources: undefined, carmMaps: { namespace: "ack", isRequired: true, inAllNamespaces: true } };
  const { cluster, source } = await fakeCluster(t, [], options);
  const stray = { metadata: { name: "ack-role-team-map", namespace: "team-a", resourceVersion: "3" }, data: {} };
  cluster.objects.set(all, [stray]);
  const started = source.start();
  await eventually(source, () => source.inventory.of(CARM_MAPS).data("team-a", "ack-role-team-map") !== null);
  await started;
  await cluster.until(() => cluster.lists.filter((list) => list.startsWith(all)).length === 2);
  t.same(cluster.lists.filter((list) => list.startsWith(all)).toSorted(), [
    `${all}?fieldSelector=metadata.name%3Dack-role-account-map&limit=500`,
    `${all}?fieldSelector=metadata.name%3Dack-role-team-map&limit=500`,
  ]);
  await eventually(source, () => source.inventory.includes(OTHER_CARM_MAPS));
  const without = await fakeCluster(t, [], options);
  without.cluster.errors.set(all, { status: 403 });
  await without.source.start();
  await eventually(without.source, () => without.source.status.fault?.includes("team-map") === true);
  t.match(without.source.status.fault, "named ack-role-team-map in all namespaces; ");
  t.equal(without.source.inventory.includes(CARM_MAPS), true);
  t.equal(without.source.inventory.includes(OTHER_CARM_MAPS), false);
});
