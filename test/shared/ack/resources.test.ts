import { RESOURCES } from "../../../shared/ack/resources.ts";
import { test } from "tap";
import type { Inventory } from "../../../shared/core/inventory.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { bucketObject, inventoryWith, put, SETTINGS_BY_DEFAULT } from "../objects.ts";

const GROUP = "s3.services.k8s.aws";
const inventoryOf = (...objects: Parameters<typeof put>[0][]): Inventory => {
  return inventoryWith(objects, { runtime: SETTINGS_BY_DEFAULT.runtime });
};

test("finds resources by namespace and group, and stores each resource once", (t) => {
  const other = bucketObject({ name: "b2", namespace: "team-b" });
  const resources = inventoryOf(bucketObject(), bucketObject(), other).of(RESOURCES);
  t.equal(resources.size, 2);
  t.same([...resources.inNamespace("team-b")].map(({ name }) => name), ["b2"]);
  t.same([...resources.ofGroup(GROUP)].map(({ name }) => name), ["b1", "b2"]);
  t.same([...resources.all()].length, 2);
  t.same(resources.groups().map((group) => group.size), [2]);
  t.same([...resources.inNamespace("team-c")], []);
  t.end();
});

test("finds resources by their current labels", (t) => {
  const inventory = inventoryOf(
    bucketObject({ labels: { tier: "gold" } }),
    bucketObject({ name: "b2", labels: { tier: "silver" } }),
  );
  const gold = (): (string | null)[] => (
    Array.from(inventory.of(RESOURCES).withLabel("tier", "gold"), ({ name }) => name)
  );
  t.same(gold(), ["b1"]);
  inventory.apply([
    put(bucketObject({ labels: { tier: "silver" } })),
    put(bucketObject({ name: "b2", labels: { tier: "gold" } })),
  ]);
  t.same(gold(), ["b2"]);
  inventory.apply([{ type: "remove", group: GROUP, kind: "Bucket", namespace: "team-a", name: "b2" }]);
  t.same(gold(), []);
  t.end();
});

test("removes a resource from every index, and ignores the removal of an unknown resource", (t) => {
  const inventory = inventoryOf(bucketObject());
  const remove = { type: "remove", group: GROUP, kind: "Bucket", namespace: "team-a", name: "b1" } as const;
  inventory.apply([remove, remove]);
  t.equal(inventory.of(RESOURCES).size, 0);
  t.same([...inventory.of(RESOURCES).ofGroup(GROUP), ...inventory.of(RESOURCES).inNamespace("team-a")], []);
  t.end();
});

test("finds a resource by its account until the account changes or the resource is removed", (t) => {
  const inAccount = (account: string): JsonObject =>
    bucketObject({}, { status: { ackResourceMetadata: { ownerAccountID: account } } });
  const inventory = inventoryOf(inAccount("111122223333"), bucketObject({ name: "b2" }));
  const found = (account: string): (string | null)[] =>
    [...inventory.of(RESOURCES).ofAccount(account)].map(({ name }) => name);
  t.same([found("111122223333"), found("444455556666")], [["b1"], []]);
  inventory.apply([put(inAccount("444455556666"))]);
  t.same([found("111122223333"), found("444455556666")], [[], ["b1"]]);
  inventory.apply([{ type: "remove", group: GROUP, kind: "Bucket", namespace: "team-a", name: "b1" }]);
  t.same(found("444455556666"), []);
  t.end();
});

test("ignores objects of other groups and objects without a name", (t) => {
  t.equal(
    inventoryOf({ apiVersion: "v1", kind: "Pod", metadata: { name: "p" } }, bucketObject({ name: undefined }), {
      apiVersion: "services.k8s.aws/v1alpha1",
      kind: "FieldExport",
      metadata: { name: "f" },
    }).of(RESOURCES).size,
    0,
  );
  t.end();
});

test("reads from a resource whether it exists in AWS and whether it is being deleted", (t) => {
  const stored = (object: Parameters<typeof put>[0]): object =>
    [...inventoryOf(object).of(RESOURCES).all()].map(({ created, deleting }) => ({ created, deleting }))[0] ?? {};
  const synced = (status: string): object => ({
    status: {
      conditions: [
        { type: "ACK.Terminal", status: "False" },
        { type: "ACK.ResourceSynced", status },
      ],
    },
  });
  t.same(stored(bucketObject()), { created: false, deleting: false });
  t.same(stored(bucketObject({}, { status: { ackResourceMetadata: { arn: "arn:aws:s3:::b1" } } })), {
    created: true,
    deleting: false,
  });
  t.same(stored(bucketObject({}, { ...synced("True") })), { created: true, deleting: false });
  t.same(stored(bucketObject({}, { ...synced("False") })), { created: false, deleting: false });
  t.same(
    stored(
      bucketObject({ deletionTimestamp: "2026-11-21T00:00:00Z" }, { status: { ackResourceMetadata: { arn: "" } } }),
    ),
    { created: false, deleting: true },
  );
  t.end();
});

test("finds a resource by group, kind, namespace and name", (t) => {
  const resources = inventoryOf(bucketObject()).of(RESOURCES);
  const key = { group: GROUP, kind: "Bucket", namespace: "team-a" };
  t.equal(resources.get({ ...key, name: "b1" })?.name, "b1");
  t.equal(resources.get({ ...key, name: "b2" }), null);
  t.equal(resources.get({ ...key, name: null }), null);
  t.end();
});
