import { OTHER_CARM_MAPS } from "../../../shared/carm/map-store.ts";
import { SECRETS } from "../../../shared/capa/secrets.ts";
import { REFERRERS } from "../../../shared/capa/referrers.ts";
import { IDENTITIES, identitySubject } from "../../../shared/capa/identities.ts";
import { RESOURCES } from "../../../shared/ack/resources.ts";
import { test } from "tap";
import type { Inventory } from "../../../shared/core/inventory.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { clusterObject, identityObject, INFRASTRUCTURE, refTo, roleIdentity, staticIdentity } from "../capa-objects.ts";
import { ACCOUNT_MAP, inventoryWith, kindObject, mapObject } from "../objects.ts";

const ACCOUNT = "AWSServiceAccountIdentity";

const remove = (inventory: Inventory, kind: string, name: string, namespace = ""): void => {
  const group = kind === "Secret" ? "" : INFRASTRUCTURE;
  inventory.apply([{ type: "remove", group, kind, namespace, name }]);
};

test("finds identities by reference, source and Secret", (t) => {
  const inventory = inventoryWith([
    roleIdentity("a", "role/b"), roleIdentity("b", "static/s"), roleIdentity("c", "role/b"), roleIdentity("d", null),
    staticIdentity("s"), staticIdentity("t", {}, "s-creds"), staticIdentity("u", {}, null),
  ]);
  const identities = inventory.of(IDENTITIES);
  t.equal(identities.size, 7);
  t.equal(identities.get(refTo("role/a"), "ns1")?.name, "a");
  t.equal(identities.get(refTo("static/a"), "ns1"), null);
  t.same(Array.from(identities.withSource(refTo("role/b")), ({ name }) => name), ["a", "c"]);
  t.same(Array.from(identities.withSecret("s-creds"), ({ name }) => name), ["s", "t"]);
  t.same(Array.from(identities.withSecret(""), ({ name }) => name), ["u"]);
  t.same(Array.from(identities.all(), ({ name }) => name), ["a", "b", "c", "d", "s", "t", "u"]);
  t.end();
});

test("a change or removal of an identity updates every index", (t) => {
  const objects = [roleIdentity("a", "role/b"), staticIdentity("s"), staticIdentity("u", {}, null)];
  const inventory = inventoryWith(objects);
  const identities = inventory.of(IDENTITIES);
  inventory.apply([
    { type: "put", object: roleIdentity("a", "static/s") }, { type: "put", object: staticIdentity("s", {}, "other") },
  ]);
  t.equal(identities.size, 3);
  t.equal(identities.withSource(refTo("role/b")).size, 0);
  t.equal(identities.withSource(refTo("static/s")).size, 1);
  t.equal(identities.withSecret("s-creds").size, 0);
  t.equal(identities.withSecret("other").size, 1);
  remove(inventory, "AWSClusterRoleIdentity", "a");
  for (const name of ["s", "s", "u"]) remove(inventory, "AWSClusterStaticIdentity", name);
  t.equal(identities.size, 0);
  t.equal(identities.withSource(refTo("static/s")).size, 0);
  t.equal(identities.withSecret("other").size, 0);
  t.end();
});

test("a service account identity belongs to its namespace", (t) => {
  const inNamespace = (namespace: string): JsonObject => identityObject(ACCOUNT, "sa", {}, { namespace });
  const inventory = inventoryWith([inNamespace("ns1"), inNamespace("ns2")]);
  const reference = { kind: ACCOUNT, name: "sa" };
  t.equal(inventory.of(IDENTITIES).get(reference, "ns2")?.namespace, "ns2");
  remove(inventory, ACCOUNT, "sa", "ns2");
  t.equal(inventory.of(IDENTITIES).get(reference, "ns2"), null);
  t.equal(inventory.of(IDENTITIES).get(reference, "ns1")?.namespace, "ns1");
  t.end();
});

test("ignores an identity that has no name", (t) => {
  t.equal(inventoryWith([identityObject("AWSClusterRoleIdentity", "", {})]).of(IDENTITIES).size, 0);
  t.end();
});

test("finds referrers by namespace and identity, and updates the indexes", (t) => {
  const inventory = inventoryWith([
    clusterObject("c1", "role/a"), clusterObject("c2", null), clusterObject("c3", "role/a", "ns2"),
    clusterObject("c4", "account/sa", "ns2"),
  ]);
  const referrers = inventory.of(REFERRERS);
  const using = (reference: string, namespace?: string): (string | null)[] => (
    Array.from(referrers.ofIdentity(refTo(reference), namespace), ({ name }) => name)
  );
  t.equal(referrers.size, 4);
  t.same(using("role/a"), ["c1", "c3"]);
  t.same(using("controller"), ["c2"], "a missing reference stands for the controller identity");
  t.same(using("account/sa", "ns2"), ["c4"]);
  t.same(using("account/sa", "ns1"), []);
  t.same(Array.from(referrers.inNamespace("ns1"), ({ name }) => name), ["c1", "c2"]);
  const type = { group: INFRASTRUCTURE, kind: "AWSCluster", namespace: "ns1" };
  t.equal(referrers.get({ ...type, name: "c1" })?.name, "c1");
  t.equal(referrers.get({ ...type, name: "c3" }), null);
  t.equal(referrers.get({ ...type, name: null }), null);
  inventory.apply([{ type: "put", object: clusterObject("c1", null) }]);
  t.same(using("role/a"), ["c3"]);
  t.same(using("controller"), ["c2", "c1"]);
  for (const name of ["c1", "c1", "c2"]) remove(inventory, "AWSCluster", name, "ns1");
  t.same(using("controller"), []);
  t.same(Array.from(referrers.all(), ({ name }) => name), ["c3", "c4"]);
  t.end();
});

test("a ROSANetwork without a reference uses no identity in shipped CAPA", (t) => {
  const network = { ...clusterObject("n1", null), kind: "ROSANetwork" };
  for (const [runtime, count] of [["ack", 0], ["extended", 1]] as const) {
    const inventory = inventoryWith([network], { runtime });
    t.equal(inventory.of(REFERRERS).ofIdentity(refTo("controller")).size, count);
    t.equal(inventory.of(REFERRERS).size, 1);
    remove(inventory, "ROSANetwork", "n1", "ns1");
    t.equal(inventory.of(REFERRERS).ofIdentity(refTo("controller")).size, 0);
  }
  t.end();
});

test("ignores a referrer that has no name, and does not store CAPA objects as ACK resources", (t) => {
  const nameless = { ...clusterObject("c1", null), metadata: { generateName: "c" } };
  const inventory = inventoryWith([nameless, roleIdentity("a"), clusterObject("c2", null)]);
  t.equal(inventory.of(REFERRERS).size, 1);
  t.equal(inventory.of(RESOURCES).size, 0);
  t.equal(inventory.origin, "cluster");
  t.end();
});

test("an inventory of manifests includes identities and referrers if it contains at least one", (t) => {
  const ofFiles = (...objects: Parameters<typeof inventoryWith>[0]): Inventory => (
    inventoryWith(objects, { origin: "file" })
  );
  t.notOk(ofFiles().includes(IDENTITIES) || ofFiles().includes(REFERRERS));
  t.equal(ofFiles(roleIdentity("a")).includes(IDENTITIES), true);
  t.equal(ofFiles(clusterObject("c", null)).includes(REFERRERS), true);
  t.equal(ofFiles().includes(OTHER_CARM_MAPS), false);
  t.equal(ofFiles(mapObject(ACCOUNT_MAP, {})).includes(OTHER_CARM_MAPS), true);
  t.end();
});

test("stores the metadata of Secrets by namespace and name", (t) => {
  const secret = (name: string, namespace?: string): JsonObject => (
    { apiVersion: "v1", kind: "Secret", metadata: { name, namespace }, data: { AccessKeyID: "x" } }
  );
  const inventory = inventoryWith([secret("a", "capa-system"), secret("b")], { origin: "file" });
  const secrets = inventory.of(SECRETS);
  t.equal(inventory.includes(SECRETS), true);
  t.equal(secrets.get("capa-system", "a")?.keys?.[0]?.state, "present");
  t.equal(secrets.get("capa-system", "b"), null);
  t.not(secrets.get("default", "b"), null);
  remove(inventory, "Secret", "a", "capa-system");
  remove(inventory, "Secret", "a", "nowhere");
  t.equal(secrets.get("capa-system", "a"), null);
  t.equal(secrets.hasNamespace("capa-system"), false);
  t.equal(secrets.hasNamespace("default"), true);
  t.equal(inventoryWith([], { origin: "file" }).includes(SECRETS), false);
  t.end();
});

test("an Event names an identity in the storage version of its kind", (t) => {
  const kind = "AWSClusterRoleIdentity";
  const identity = { kind, namespace: "", name: "a", uid: "uid-a" } as const;
  const subject = { kind, namespace: "", name: "a", uid: "uid-a" };
  const unknown = inventoryWith([]);
  t.same(identitySubject(identity, unknown), { apiVersion: `${INFRASTRUCTURE}/v1beta2`, ...subject });
  const later = inventoryWith([kindObject(kind, INFRASTRUCTURE, [
    { name: "v1beta2", served: true, storage: false }, { name: "v1beta3", served: true, storage: true },
  ])]);
  t.same(identitySubject(identity, later), { apiVersion: `${INFRASTRUCTURE}/v1beta3`, ...subject });
  t.end();
});
