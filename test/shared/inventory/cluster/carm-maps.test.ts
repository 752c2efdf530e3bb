import { test } from "tap";
import { becomes, fakeCluster } from "./fake-cluster.ts";

const MAPS = "/api/v1/namespaces/ack/configmaps";
const map = (name: string, data: object, more: object = {}): object => ({ metadata: { name, namespace: "ack", resourceVersion: "3", annotations: { large: "x" }, ...more }, data });
const held = (isAwaited: boolean): object => ({ resources: undefined, carmMaps: { namespace: "ack", isAwaited } });

test("each CARM map is followed by its name alone", async (t) => {
  const { cluster, source } = await fakeCluster(t, [], held(true));
  await source.start();
  await cluster.until(() => cluster.watches.has(MAPS));
  t.same(cluster.lists.filter((list) => list.startsWith(MAPS)).toSorted(), [
    `${MAPS}?fieldSelector=metadata.name%3Dack-role-account-map&limit=500`, `${MAPS}?fieldSelector=metadata.name%3Dack-role-team-map&limit=500`,
  ]);
  t.match(cluster.watches.get(MAPS)?.query, { fieldSelector: /^metadata\.name=ack-role-(account|team)-map$/, watch: "true" });
  t.equal(source.inventory.knows("config maps"), true, "that there are none is known");
  await cluster.emit(MAPS, "ADDED", map("ack-role-team-map", { payments: "arn:aws:iam::111122223333:role/payments" }));
  await becomes(source, () => source.inventory.configMap("ack", "ack-role-team-map") !== null);
  t.same([...(source.inventory.configMap("ack", "ack-role-team-map") ?? [])], [["payments", "arn:aws:iam::111122223333:role/payments"]]);
  await cluster.emit(MAPS, "DELETED", map("ack-role-team-map", {}));
  await becomes(source, () => source.inventory.configMap("ack", "ack-role-team-map") === null);
});

test("where they do not decide, they may be forbidden, and are not said to be known", async (t) => {
  const { cluster, source } = await fakeCluster(t, [], held(false));
  cluster.refusals.set(MAPS, { status: 403 });
  await source.start();
  await becomes(source, () => source.status.fault?.includes("team-map") === true && source.status.fault.includes("account-map"));
  t.match(source.status, { loaded: true, fault: /^not allowed to list configmaps named ack-role-account-map in the namespace ack; grant the verbs list and watch on it, / });
  t.equal(source.inventory.knows("config maps"), false);
  t.same([...source.inventory.unlisted("config maps")].toSorted(), ["ack/ack-role-account-map", "ack/ack-role-team-map"]);
});

test("where they decide, nothing is loaded without them", async (t) => {
  const { cluster, source } = await fakeCluster(t, [], held(true));
  cluster.refusals.set(MAPS, { status: 403 });
  source.start().catch(() => undefined);
  await becomes(source, () => source.status.fault !== null);
  t.equal(source.status.loaded, false);
});
