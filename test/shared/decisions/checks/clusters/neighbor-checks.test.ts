import { test } from "tap";
import type { JsonObject } from "../../../../../shared/formats/json.ts";
import {
  clusterObject, CONTROL_PLANE, controllerIdentity, ownedBy, roleIdentity, staticIdentity, withFields,
} from "../../identities/objects.ts";
import { type CapaInput, capaLines } from "../capa-lines.ts";

const controlPlane = (reference: string | null, name = "cp", namespace = "ns1"): JsonObject => ({
  ...clusterObject(name, reference, namespace), apiVersion: `${CONTROL_PLANE}/v1beta2`, kind: "AWSManagedControlPlane",
});
const network = (reference: string | null): JsonObject => ({ ...clusterObject("n", reference), kind: "ROSANetwork" });
const labeled = (object: JsonObject, cluster = "c"): JsonObject => (
  withFields(object, "metadata", { labels: { "cluster.x-k8s.io/cluster-name": cluster } })
);

const ac06 = (object: JsonObject, objects: readonly JsonObject[], more: CapaInput = {}): string[] => (
  capaLines("AC-06", object, { objects, ...more })
);
const FIX = "Use one identity for all objects of the Cluster.";
const OWN = labeled(clusterObject("c", "role/a"));

test("AC-06 warns if another object of the Cluster names another identity", (t) => {
  t.same(ac06(OWN, [OWN, ownedBy("c", controlPlane("role/b"))]), [
    'warn AC-06 spec.identityRef: Cluster "c" also uses 1 other identity: AWSClusterRoleIdentity "b" '
    + `(AWSManagedControlPlane ns1/cp). ${FIX}`,
  ]);
  t.same(ac06(OWN, [labeled(controlPlane(null)), labeled(network("static/a")), labeled(controlPlane("role/b", "x"))]), [
    'warn AC-06 spec.identityRef: Cluster "c" also uses 3 other identities: '
    + 'AWSClusterControllerIdentity "default" (AWSManagedControlPlane ns1/cp), AWSClusterRoleIdentity "b" '
    + `(AWSManagedControlPlane ns1/x) and AWSClusterStaticIdentity "a" (ROSANetwork ns1/n). ${FIX}`,
  ]);
  t.end();
});

test("AC-06 accepts objects of one identity, of other Clusters and of other namespaces, and templates", (t) => {
  t.same(ac06(OWN, [OWN, labeled(controlPlane("role/a"))]), []);
  t.same(ac06(OWN, [labeled(controlPlane("role/b"), "d"), controlPlane("role/b"), labeled(controlPlane("role/b", "x",
    "ns2"))]), []);
  const template = { ...clusterObject("t", null), kind: "AWSClusterTemplate" };
  t.same(ac06(OWN, [labeled(template)]), []);
  t.same(ac06(labeled(template), [OWN]), []);
  t.same(ac06(clusterObject("c", "role/a"), [labeled(controlPlane("role/b"))]), [], "the Cluster is unknown");
  t.same(ac06(labeled(network(null)), [labeled(controlPlane("controller"))]), [], "the credentials of CAPA");
  t.end();
});

test("AC-06 does not compare an object with its own stored state", (t) => {
  const changed = labeled(clusterObject("c", "role/b"));
  t.same(ac06(changed, [OWN], { old: OWN }), []);
  t.match(ac06(changed, [OWN, labeled(clusterObject("d", "role/a"))], { old: OWN }), [/"a" \(AWSCluster ns1\/d\)/]);
  t.end();
});

test("AC-06 names at most 20 other identities", (t) => {
  const many = Array.from({ length: 30 }, (_, i) => labeled(controlPlane(`role/r${i}`, `cp${i}`)));
  t.match(ac06(OWN, many), [/also uses at least 20 other identities: .* and others\. Use/]);
  t.end();
});

const IDENTITIES = [
  controllerIdentity(), roleIdentity("a"), roleIdentity("same"), staticIdentity("s"),
  staticIdentity("t", {}, "s-creds"), staticIdentity("u"),
  roleIdentity("foreign", "controller", {}, { roleARN: "arn:aws:iam::444455556666:role/x" }),
  roleIdentity("bad", "controller", {}, { roleARN: "x" }),
];
const ac07 = (object: JsonObject, objects: readonly JsonObject[], more: CapaInput = {}): string[] => (
  capaLines("AC-07", object, { objects: [...IDENTITIES, ...objects], ...more })
);
const PROD = clusterObject("prod", "role/a");
const FIX_07 = "Give the cluster a name that no other namespace uses, or an identity of another account.";
const elsewhere = (reference: string | null, namespace = "ns2"): JsonObject => (
  clusterObject("prod", reference, namespace)
);

test("AC-07 warns if the account contains a cluster of the same name in another namespace", (t) => {
  t.same(ac07(PROD, [PROD, elsewhere("role/same")]), [
    'warn AC-07 metadata.name: account 111122223333 also contains the cluster "prod" of 1 other namespace: ns2. '
    + FIX_07,
  ]);
  t.same(ac07(clusterObject("prod", "static/s"), [elsewhere("static/t", "ns3"), elsewhere("static/s")]), [
    'warn AC-07 metadata.name: the account of Secret s-creds also contains the cluster "prod" of 2 other namespaces: '
    + `ns2 and ns3. ${FIX_07}`,
  ]);
  t.same(ac07(clusterObject("prod", null), [elsewhere("controller")]), [
    'warn AC-07 metadata.name: the account of CAPA also contains the cluster "prod" of 1 other namespace: ns2. '
    + FIX_07,
  ]);
  t.same(ac07(controlPlane("role/a", "prod"), [ownedBy("prod", controlPlane("role/a", "x", "ns2"))]).length, 1);
  t.end();
});

test("AC-07 accepts the same name in other accounts, and other names in the account", (t) => {
  t.same(ac07(PROD, [PROD, elsewhere("role/foreign"), elsewhere("static/s"), elsewhere(null, "ns3")]), []);
  t.same(ac07(clusterObject("prod", "static/s"), [elsewhere("static/u")]), []);
  t.same(ac07(PROD, [clusterObject("dev", "role/a", "ns2"), ownedBy("dev", elsewhere("role/a"))]), []);
  t.same(ac07(ownedBy("dev", PROD), [elsewhere("role/a")]), [], "the tags contain the name of the Cluster");
  t.same(ac07(PROD, [labeled(controlPlane("role/a", "x"), "prod")]), [], "the same namespace");
  t.same(ac07(PROD, [{ ...elsewhere("role/a"), kind: "ROSANetwork" }]), [], "a kind without tags");
  t.same(ac07({ ...PROD, kind: "ROSANetwork" }, [elsewhere("role/a")]), []);
  t.end();
});

test("AC-07 does not compare clusters whose account is unknown", (t) => {
  t.same(ac07(clusterObject("prod", "role/none"), [elsewhere("role/none")]), []);
  t.same(ac07(clusterObject("prod", "role/bad"), [elsewhere("role/bad")]), []);
  t.end();
});

test("AC-07 compares roles with the controller identity if the account of CAPA is set", (t) => {
  const settings = { controllerAccount: "111122223333" };
  const both = [elsewhere("role/a"), elsewhere(null, "ns3")];
  const lines = (object: JsonObject): string[] => ac07(object, both, { settings });
  const expected = [/^warn AC-07 .*: account 111122223333 .* 2 other namespaces: ns2 and ns3\./];
  t.match(lines(PROD), expected);
  t.match(lines(clusterObject("prod", null)), expected);
  t.same(lines(clusterObject("prod", "role/foreign")), []);
  t.end();
});

test("AC-07 names at most 20 other namespaces", (t) => {
  const many = Array.from({ length: 30 }, (_, i) => elsewhere("role/a", `n${i}`));
  t.match(ac07(PROD, many), [/of at least 20 other namespaces: .* and others\. Give/]);
  t.end();
});
