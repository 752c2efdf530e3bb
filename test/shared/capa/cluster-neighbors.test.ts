import type { JsonObject } from "../../../shared/formats/json.ts";
import {
  clusterObject, CONTROL_PLANE, controllerIdentity, ownedBy, roleIdentity, staticIdentity, withFields,
} from "../capa-objects.ts";
import { recordedAccounts } from "../capa-secrets.ts";
import { testRows } from "../rows.ts";
import { type CapaInput, capaLines } from "../core/capa-lines.ts";

const controlPlane = (reference: string | null, name = "cp", namespace = "ns1"): JsonObject => ({
  ...clusterObject(name, reference, namespace), apiVersion: `${CONTROL_PLANE}/v1beta2`, kind: "AWSManagedControlPlane",
});
const network = (reference: string | null): JsonObject => ({ ...clusterObject("n", reference), kind: "ROSANetwork" });
const labeled = (object: JsonObject, cluster = "c"): JsonObject => (
  withFields(object, "metadata", { labels: { "cluster.x-k8s.io/cluster-name": cluster } })
);

const IDENTITIES = [
  controllerIdentity(), roleIdentity("a"), roleIdentity("same"), staticIdentity("s"),
  staticIdentity("t", {}, "s-creds"), staticIdentity("u"),
  roleIdentity("foreign", "controller", {}, { roleARN: "arn:aws:iam::444455556666:role/x" }),
  roleIdentity("bad", "controller", {}, { roleARN: "x" }),
];
type Input = readonly [object: JsonObject, objects: readonly JsonObject[], more?: CapaInput];
const of = (id: string) => ([object, objects, more = {}]: Input): string[] =>
  capaLines(id, object, { objects: [...IDENTITIES, ...objects], ...more });

const OWN = labeled(clusterObject("c", "role/a"));
const changed = labeled(clusterObject("c", "role/b"));
const template = { ...clusterObject("t", null), kind: "AWSClusterTemplate" };
const uses = (identities: string): string => (
  `warn AC-06 spec.identityRef: Cluster "c" also uses ${identities}. Use one identity for all objects of the Cluster.`
);

testRows("AC-06 warns if another object of the Cluster names another identity", of("AC-06"), [
  ["a control plane", [OWN, [OWN, ownedBy("c", controlPlane("role/b"))]],
    uses('1 other identity: AWSClusterRoleIdentity "b" (AWSManagedControlPlane ns1/cp)')],
  ["three objects",
    [OWN, [labeled(controlPlane(null)), labeled(network("static/a")), labeled(controlPlane("role/b", "x"))]],
    uses('3 other identities: AWSClusterControllerIdentity "default" (AWSManagedControlPlane ns1/cp), '
      + 'AWSClusterRoleIdentity "b" (AWSManagedControlPlane ns1/x) and AWSClusterStaticIdentity "a" (ROSANetwork '
      + 'ns1/n)')],
  ["the same identity", [OWN, [OWN, labeled(controlPlane("role/a"))]]],
  ["another Cluster", [OWN, [labeled(controlPlane("role/b"), "d"), controlPlane("role/b")]]],
  ["another namespace", [OWN, [labeled(controlPlane("role/b", "x", "ns2"))]]],
  ["a template next to it", [OWN, [labeled(template)]]],
  ["a template", [labeled(template), [OWN]]],
  ["the Cluster is unknown", [clusterObject("c", "role/a"), [labeled(controlPlane("role/b"))]]],
  ["the credentials of CAPA", [labeled(network(null)), [labeled(controlPlane("controller"))]]],
  ["its own stored state", [changed, [OWN], { old: OWN }]],
  ["its own stored state and another object",
    [changed, [OWN, labeled(clusterObject("d", "role/a"))], { old: OWN }], /"a" \(AWSCluster ns1\/d\)/],
  ["at most 20 other identities",
    [OWN, Array.from({ length: 30 }, (_, i) => labeled(controlPlane(`role/r${i}`, `cp${i}`)))],
    /also uses at least 20 other identities: .* and others\. Use/],
]);

const prod = (reference: string | null, namespace = "ns1"): JsonObject => clusterObject("prod", reference, namespace);
const PROD = prod("role/a");
const contains = (account: string, namespaces: string): string => (
  `warn AC-07 metadata.name: ${account} also contains the cluster "prod" of ${namespaces}. Give the cluster a name `
    + `that no `
    + "other namespace uses, or an identity of another account."
);
const ACCOUNT = "account 111122223333";
const rosa = (object: JsonObject): JsonObject => ({ ...object, kind: "ROSANetwork" });
const OF_CAPA = { settings: { controllerAccount: "111122223333" } };
const RECORDED = { settings: { identitySecretNamespace: "capa-system" } };
const RECORDS = [
  staticIdentity("v"), ...recordedAccounts({ "s-creds": "111122223333", "u-creds": "111122223333" }),
];
const BOTH = [prod("role/a", "ns2"), prod(null, "ns3")];
const TWO = contains(ACCOUNT, "2 other namespaces: ns2 and ns3");

testRows("AC-07 warns if the account contains a cluster of the same name in another namespace", of("AC-07"), [
  ["a role of the account", [PROD, [PROD, prod("role/same", "ns2")]], contains(ACCOUNT, "1 other namespace: ns2")],
  ["the same Secret", [prod("static/s"), [prod("static/t", "ns3"), prod("static/s", "ns2")]],
    contains("the account of Secret s-creds", "2 other namespaces: ns2 and ns3")],
  ["CAPA", [prod(null), [prod("controller", "ns2")]], contains("the account of CAPA", "1 other namespace: ns2")],
  ["the name of the Cluster", [controlPlane("role/a", "prod"), [ownedBy("prod", controlPlane("role/a", "x", "ns2"))]],
    contains(ACCOUNT, "1 other namespace: ns2")],
  ["other accounts", [PROD, [PROD, prod("role/foreign", "ns2"), prod("static/s", "ns2"), prod(null, "ns3")]]],
  ["another Secret", [prod("static/s"), [prod("static/u", "ns2")]]],
  ["other names", [PROD, [clusterObject("dev", "role/a", "ns2"), ownedBy("dev", prod("role/a", "ns2"))]]],
  ["the tags contain the name of the Cluster", [ownedBy("dev", PROD), [prod("role/a", "ns2")]]],
  ["the same namespace", [PROD, [labeled(controlPlane("role/a", "x"), "prod")]]],
  ["a kind without tags next to it", [PROD, [rosa(prod("role/a", "ns2"))]]],
  ["a kind without tags", [rosa(PROD), [prod("role/a", "ns2")]]],
  ["a missing identity", [prod("role/none"), [prod("role/none", "ns2")]]],
  ["an identity without an account", [prod("role/bad"), [prod("role/bad", "ns2")]]],
  ["the account of CAPA is set", [PROD, BOTH, OF_CAPA], TWO],
  ["the controller identity in the set account", [prod(null), BOTH, OF_CAPA], TWO],
  ["a role of another account than the set one", [prod("role/foreign"), BOTH, OF_CAPA]],
  ["Secrets of the account, and one whose account is unknown",
    [prod("static/s"), [prod("static/u", "ns2"), prod("static/v", "ns4"), prod("role/a", "ns3"), ...RECORDS], RECORDED],
    contains(ACCOUNT, "2 other namespaces: ns2 and ns3")],
  ["a Secret of another account", [prod("role/foreign"), [prod("static/u", "ns2"), ...RECORDS], RECORDED]],
  ["at most 20 other namespaces in two Secrets", [prod("static/s"), [...RECORDS,
    ...Array.from({ length: 30 }, (_, i) => prod(i < 20 ? "static/s" : "static/u", `n${i}`))], RECORDED],
    /of at least 20 other namespaces: .* and others\. Give/],
  ["at most 20 other namespaces", [PROD, Array.from({ length: 30 }, (_, i) => prod("role/a", `n${i}`))],
    /of at least 20 other namespaces: .* and others\. Give/],
]);
