import { test } from "tap";
import { Inventory } from "../../../../shared/inventory/inventory.ts";
import type { JsonObject } from "../../../../shared/formats/json.ts";
import { drain } from "../../../../shared/formats/paced.ts";
import { compareInventories, countsOf, type Impact, isDisruptive } from
  "../../../../shared/resolution/impact.ts";
import {
  clusterObject, controllerIdentity, roleIdentity, staticIdentity, withFields,
} from "../identities/objects.ts";
import { namespaceObject, put, SETTINGS_BY_DEFAULT } from "../objects.ts";

const FOREIGN = { roleARN: "arn:aws:iam::444455556666:role/x" };
const IDENTITIES = [
  controllerIdentity(), staticIdentity("s"), staticIdentity("t"), roleIdentity("r", "static/s"),
  roleIdentity("chained", "role/r"), roleIdentity("foreign", "controller", {}, FOREIGN),
  roleIdentity("twin", "static/s", {}, { roleARN: "arn:aws:iam::111122223333:role/r" }),
];

function impacts(before: readonly JsonObject[], after: readonly JsonObject[]): readonly Impact[] {
  const [first, second] = [before, after].map((objects) => {
    const inventory = new Inventory({ runtime: "ack", origin: "file" });
    inventory.apply(objects.map(put));
    return inventory;
  });
  if (first === undefined || second === undefined) throw new Error("two inventories are required");
  return drain(compareInventories(first, second, SETTINGS_BY_DEFAULT)).impacts;
}

/** Returns the change of a cluster, if the cluster or other objects are replaced. */
function changeOf(
  before: JsonObject | null, after: JsonObject | null, ...changed: readonly JsonObject[]
): string | null {
  const objects = (object: JsonObject | null): JsonObject[] => [...IDENTITIES, ...(object === null ? [] : [object])];
  const found = impacts(objects(before), [...objects(after), ...changed]);
  return found[0]?.change ?? null;
}

const cluster = (reference: string | null): JsonObject => clusterObject("c", reference);

test("reports clusters that are added, removed, refused or moved", (t) => {
  const onRole = cluster("role/r");
  t.equal(changeOf(onRole, onRole), null);
  t.equal(changeOf(null, onRole), "added");
  t.equal(changeOf(onRole, null), "removed");
  t.equal(changeOf(onRole, cluster(null)), "default", "the cluster moves to the account of the controller");
  t.equal(changeOf(onRole, cluster("role/none")), "refused");
  t.equal(changeOf(onRole, cluster("role/foreign")), "account");
  t.equal(changeOf(cluster(null), onRole), "selected");
  const network = { ...cluster(null), kind: "ROSANetwork" };
  t.equal(changeOf(network, network), null, "CAPA uses no identity");
  t.end();
});

test("reports the identity, the role, the source or the Secret that changes", (t) => {
  t.equal(changeOf(cluster("static/s"), cluster("static/t")), "identity");
  t.equal(changeOf(cluster("static/s"), cluster("role/r")), "identity", "the account of a static identity is unknown");
  t.equal(changeOf(cluster("role/r"), cluster("static/s")), "identity");
  t.equal(changeOf(cluster("role/r"), cluster("role/twin")), "identity", "the same role");
  t.equal(changeOf(cluster("role/r"), cluster("role/chained")), "role");
  const onRole = cluster("role/r");
  t.equal(changeOf(onRole, onRole, roleIdentity("r", "static/s", {}, { roleARN: "arn:aws:iam::111122223333:role/y" })),
    "role");
  t.equal(changeOf(onRole, onRole, roleIdentity("r", "static/t")), "source");
  const onChain = cluster("role/chained");
  t.equal(changeOf(onChain, onChain, roleIdentity("r", "static/s", {}, FOREIGN)), "source", "the role of the source");
  t.equal(changeOf(onRole, withFields(onRole, "spec", { region: "us-east-1" })), "region");
  t.equal(changeOf(cluster("role/none"), cluster("role/other")), "identity", "both are refused");
  const none = cluster("static/none");
  t.equal(changeOf(none, none, staticIdentity("none", null)), null, "the cluster is refused for another reason");
  t.end();
});

test("reports the names of the Secrets if another Secret is used, also by the source of a chain", (t) => {
  for (const reference of ["static/s", "role/chained"]) {
    const found = impacts([...IDENTITIES, cluster(reference)], [...IDENTITIES, staticIdentity("s", {}, "new"),
      cluster(reference)]);
    t.match(found, [{ change: "secret", resource: { name: "c" }, secrets: { before: "s-creds", after: "new" } }]);
    t.equal(countsOf(found).secret, 1);
    t.notOk(found.some(isDisruptive));
  }
  t.end();
});

test("counts the clusters of a deleted identity, and of a namespace whose labels change", (t) => {
  const selecting = staticIdentity("sel", { selector: { matchLabels: { team: "a" } } });
  const clusters = [cluster("static/sel"), clusterObject("d", "role/over"), clusterObject("e", "role/r")];
  const others = [...IDENTITIES, roleIdentity("over", "static/sel"), ...clusters];
  const before = [...others, selecting, namespaceObject("ns1", { team: "a" })];
  const refused = (after: readonly JsonObject[]): unknown[] => (
    impacts(before, after).map(({ change, resource, after: to }) => [change, resource.name, to?.code])
  );
  t.same(refused([...others, namespaceObject("ns1", { team: "a" })]), [
    ["refused", "c", "ERR_IDENTITY_UNKNOWN"], ["refused", "d", "ERR_IDENTITY_UNKNOWN"],
  ]);
  t.same(refused([...others, selecting, namespaceObject("ns1", { team: "b" })]), [
    ["refused", "c", "ERR_IDENTITY_NAMESPACE"], ["refused", "d", "ERR_IDENTITY_NAMESPACE"],
  ]);
  t.end();
});
