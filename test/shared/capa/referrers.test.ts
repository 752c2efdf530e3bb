import { IDENTITIES } from "../../../shared/capa/identities.ts";
import { REFERRERS } from "../../../shared/capa/referrers.ts";
import { test } from "tap";
import type { Inventory } from "../../../shared/core/inventory.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import {
  clusterObject, CONTROL_PLANE, INFRASTRUCTURE, ownedBy, roleIdentity, staticIdentity, withFields,
} from "../capa-objects.ts";
import { inventoryWith } from "../objects.ts";

const ONE = "account 111122223333";
const TWO = "account 444455556666";
const FOREIGN = { roleARN: "arn:aws:iam::444455556666:role/r" };

function namespacesIn(inventory: Inventory, account: string, name = "prod"): string[] {
  return [...inventory.of(REFERRERS).namespacesOfCluster(name, account)].toSorted();
}

function apply(inventory: Inventory, ...objects: readonly JsonObject[]): void {
  inventory.apply(objects.map((object) => ({ type: "put", object })));
}

test("finds the namespaces that have a cluster of a name in an account", (t) => {
  const inventory = inventoryWith([
    clusterObject("prod", "role/r", "a"), clusterObject("prod", "role/r", "b"), roleIdentity("r"), staticIdentity("s"),
    clusterObject("prod", "static/s", "c"), clusterObject("prod", null, "d"), clusterObject("prod", "role/none", "e"),
    clusterObject("dev", "role/r", "f"), ownedBy("prod", clusterObject("infra", "role/r", "g")),
    { ...clusterObject("prod", "role/r", "h"), kind: "ROSANetwork" },
  ]);
  t.same(namespacesIn(inventory, ONE), ["a", "b", "g"]);
  t.same(namespacesIn(inventory, ONE, "infra"), [], "the name of the owner counts");
  t.same(namespacesIn(inventory, "the account of Secret s-creds"), ["c"]);
  t.same(namespacesIn(inventory, "the account of CAPA"), ["d"]);
  t.end();
});

test("a change of an identity or of a cluster updates the accounts", (t) => {
  const inventory = inventoryWith([
    clusterObject("prod", "role/r", "a"), clusterObject("prod", "role/r", "b"), clusterObject("prod", "role/q", "c"),
  ]);
  t.same(namespacesIn(inventory, ONE), [], "the identities do not exist yet");
  apply(inventory, roleIdentity("r"), roleIdentity("q"));
  t.same(namespacesIn(inventory, ONE), ["a", "b", "c"]);
  apply(inventory, roleIdentity("r", "controller", {}, FOREIGN), { ...clusterObject("prod", "role/r", "n"), spec: {} });
  t.same(namespacesIn(inventory, ONE), ["c"]);
  t.same(namespacesIn(inventory, TWO), ["a", "b"]);
  inventory.apply([
    { type: "remove", group: INFRASTRUCTURE, kind: "AWSClusterRoleIdentity", namespace: "", name: "r" },
    { type: "remove", group: INFRASTRUCTURE, kind: "AWSCluster", namespace: "c", name: "prod" },
    { type: "remove", group: INFRASTRUCTURE, kind: "AWSClusterRoleIdentity", namespace: "", name: "none" },
  ]);
  t.same([...namespacesIn(inventory, ONE), ...namespacesIn(inventory, TWO)], []);
  apply(inventory, roleIdentity("r"));
  t.same(namespacesIn(inventory, ONE), ["a", "b"]);
  t.end();
});

test("a write of an identity that keeps its account reads one cluster, not all clusters of the identity", (t) => {
  const clusters = Array.from({ length: 5_000 }, (_, i) => clusterObject("prod", "role/r", `ns${i}`));
  const inventory = inventoryWith([roleIdentity("r"), ...clusters]);
  const identities = inventory.of(IDENTITIES);
  let lookups = 0;
  const get = identities.get.bind(identities);
  Object.assign(identities, { get: (...args: Parameters<typeof get>) => (lookups++, get(...args)) });
  apply(inventory, roleIdentity("r", "static/s"));
  t.ok(lookups < 5, `${lookups} lookups`);
  t.equal(namespacesIn(inventory, ONE).length, 5_000);
  apply(inventory, roleIdentity("r", "static/s", {}, FOREIGN));
  t.equal(namespacesIn(inventory, TWO).length, 5_000);
  t.ok(lookups < 5_010, `${lookups} lookups`);
  t.end();
});

test("finds the objects of a Cluster, once for each identity, without templates", (t) => {
  const controlPlane = { ...clusterObject("cp", "role/b"), apiVersion: `${CONTROL_PLANE}/v1beta2`,
    kind: "AWSManagedControlPlane" };
  const labeled = (object: JsonObject): JsonObject => (
    withFields(object, "metadata", { labels: { "cluster.x-k8s.io/cluster-name": "c" } })
  );
  const inventory = inventoryWith([
    ownedBy("c", clusterObject("c", "role/a")), labeled(controlPlane), labeled(clusterObject("d", "role/a")),
    ownedBy("c", clusterObject("c", "role/z", "ns2")), clusterObject("e", "role/x"),
    labeled({ ...clusterObject("t", null), kind: "AWSClusterTemplate" }),
  ]);
  const found = (): string[] => Array.from(
    inventory.of(REFERRERS).ofCluster("ns1", "c"), (objects) => Array.from(objects, ({ name }) => name).join("+"),
  );
  t.same(found(), ["c+d", "cp"]);
  for (const name of ["c", "d"]) {
    inventory.apply([{ type: "remove", group: INFRASTRUCTURE, kind: "AWSCluster", namespace: "ns1", name }]);
  }
  t.same(found(), ["cp"]);
  inventory.apply([
    { type: "remove", group: CONTROL_PLANE, kind: "AWSManagedControlPlane", namespace: "ns1", name: "cp" },
  ]);
  t.same(found(), []);
  t.end();
});
