import { runChecks } from "../../../shared/judges.ts";
import { INVENTORY_KINDS } from "../../../shared/kinds.ts";
import { REFERRERS } from "../../../shared/capa/referrers.ts";
import { test } from "tap";
import { findingLine } from "../../../shared/core/check.ts";
import { identityUses } from "../../../shared/capa/cluster-identity-uses.ts";
import type { Access, Operation } from "../../../shared/core/context.ts";
import { Inventory } from "../../../shared/core/inventory.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { clusterObject, ownedBy, refTo, withFields } from "../capa-objects.ts";
import { inventoryWith, SETTINGS_BY_DEFAULT } from "../objects.ts";

const LABEL = "cluster.x-k8s.io/cluster-name";
const CAPI = "cluster.x-k8s.io/v1beta1";
const SETTINGS = { ...SETTINGS_BY_DEFAULT, clusterAPIServiceAccounts: ["capi-system/capi-manager"] };
const MANAGER = "system:serviceaccount:capi-system:capi-manager";

const inventory = inventoryWith([
  ownedBy("a", clusterObject("a", "role/a")), ownedBy("b", clusterObject("b", "role/b")),
  ownedBy("b", { ...clusterObject("b", "static/b"), kind: "ROSANetwork" }),
  ownedBy("default", clusterObject("plain", null)),
]);

interface Options {
  readonly old?: JsonObject;
  readonly username?: string;
  readonly operation?: Operation;
  readonly from?: Inventory;
}

/** Returns the identities that the object uses, as `KIND NAME`, or `every`. */
function used(
  object: JsonObject, { old, username = "jane", operation = "UPDATE", from = inventory }: Options = {},
): string[] {
  const context = { inventory: from, operation, requester: { username, groups: [] }, settings: SETTINGS };
  const uses = identityUses(object, old ?? null, context).values();
  return Array.from(uses, ({ identity }) => (identity === null ? "every" : `${identity.kind} ${identity.name}`));
}

const [A, B] = ["AWSClusterRoleIdentity a", "AWSClusterRoleIdentity b"] as const;
const B_ALL = [B, "AWSClusterStaticIdentity b"];
const CONTROLLER = "AWSClusterControllerIdentity default";

test("an object with an identityRef uses the identity before and after the change", (t) => {
  const cluster = (reference: string | null): JsonObject => clusterObject("c", reference);
  t.same(used(cluster("role/a")), [A]);
  t.same(used(cluster("role/a"), { old: cluster("role/a") }), [A], "another change");
  t.same(used(cluster("role/a"), { old: cluster("role/b") }), [A, B]);
  t.same(used(cluster("role/a"), { old: cluster("static/a") }), [A, "AWSClusterStaticIdentity a"], "only the kind");
  t.same(used(cluster(null)), [CONTROLLER], "a missing reference");
  t.same(used({ ...cluster(null), kind: "ROSANetwork" }), [CONTROLLER], "the credentials of CAPA");
  t.same(used(cluster(null), { old: cluster("role/a") }), [CONTROLLER, A], "a removed reference");
  const template = { ...cluster(null), kind: "AWSClusterTemplate" };
  t.same(used({ ...template, spec: { template: { spec: { identityRef: refTo("role/a") } } } }), [A], "a template");
  t.same(used(cluster("role/a"), { old: { ...cluster("role/b"), kind: "AWSMachine" } }), [A]);
  for (const reference of ["Other/a", "role/", "role/A", "role/a.", `role/${"a".repeat(300)}`, "__proto__/a"]) {
    t.same(used(cluster(reference)), [], reference);
    t.same(used(cluster("role/a"), { old: cluster(reference) }), [A], reference);
  }
  t.same(used({ ...cluster("role/a"), kind: "AWSMachineTemplate" }), [], "another kind");
  t.end();
});

test("Cluster API uses only an identity that it sets", (t) => {
  const [a, b] = [clusterObject("c", "role/a"), clusterObject("c", "role/b")];
  t.same(used(a, { username: MANAGER }), [A], "a new cluster, such as that of a ClusterClass");
  t.same(used(a, { username: MANAGER, old: b }), [A]);
  t.same(used(withFields(a, "spec", { region: "x" }), { username: MANAGER, old: a }), []);
  t.same(used(a, { username: MANAGER, operation: "DELETE" }), []);
  t.end();
});

function machine(cluster: string | null, spec: JsonObject = {}, kind = "AWSMachine"): JsonObject {
  const labels = cluster === null ? {} : { [LABEL]: cluster };
  return { ...clusterObject("m", null), kind, metadata: { name: "m", namespace: "ns1", labels }, spec };
}

test("a machine uses each identity of the clusters that its label, its spec and its owner name", (t) => {
  const kinds = ["AWSMachine", "AWSMachinePool", "AWSManagedMachinePool", "AWSFargateProfile", "ROSAMachinePool"];
  for (const kind of kinds) {
    t.same(used(machine("a", {}, kind)), [A], kind);
  }
  t.same(used(machine("b")), B_ALL);
  t.same(used(machine("default")), [CONTROLLER]);
  t.same(used(machine("a", { clusterName: "b" })), [A, ...B_ALL]);
  t.same(used(machine(null, { clusterName: "b" }, "AWSFargateProfile")), B_ALL);
  t.same(used(ownedBy("b", machine("a"))), [A, ...B_ALL]);
  t.same(used(machine("a"), { old: machine("b") }), [A, ...B_ALL]);
  t.same(used(machine(null), { old: machine("b") }), ["every", ...B_ALL], "a removed label");
  t.same(used(withFields(machine("a"), "metadata", { namespace: "ns2" })), ["every"], "another namespace");
  t.same(used(machine("unknown")), ["every"]);
  t.same(used(machine(null)), ["every"]);
  t.end();
});

test("a machine uses every identity if a Machine or a MachinePool becomes its owner", (t) => {
  const owned = (...owners: readonly (readonly [apiVersion: unknown, kind: string, name?: string])[]): JsonObject => (
    withFields(machine("a"), "metadata", {
      ownerReferences: owners.map(([apiVersion, kind, name]) => ({ apiVersion, kind, name })),
    })
  );
  const [first, second] = [owned([CAPI, "Machine", "x"]), owned([CAPI, "Machine", "y"])];
  t.same(used(first), [A, "every"]);
  t.same(used(owned([CAPI, "MachinePool"])), [A, "every"]);
  t.same(used(first, { old: second }), [A, "every"]);
  t.same(used(first, { old: first }), [A]);
  t.same(used(machine("a"), { old: first }), [A], "a removed owner");
  t.same(used(owned(["v1", "Machine", "x"], [CAPI, "Other", "x"], [7, "Machine"])), [A]);
  const invalid = withFields(machine("a"), "metadata", { ownerReferences: ["x", null, { apiVersion: CAPI }] });
  t.same(used(invalid), [A]);
  t.end();
});

test("an object of Cluster API uses the identities of the clusters that it names", (t) => {
  const ofCAPI = (kind: string, spec: JsonObject, name = "m"): JsonObject => (
    { apiVersion: CAPI, kind, metadata: { name, namespace: "ns1" }, spec }
  );
  const aws = { infrastructureRef: { kind: "AWSMachine" } };
  for (const kind of ["Machine", "MachineSet", "MachineDeployment", "MachinePool"]) {
    t.same(used(ofCAPI(kind, { clusterName: "b" })), B_ALL, kind);
    t.same(used(ofCAPI(kind, { clusterName: "unknown", ...aws })), ["every"], kind);
    t.same(used(ofCAPI(kind, { clusterName: "unknown", template: { spec: aws } })), ["every"], kind);
    const docker = { infrastructureRef: { kind: "DockerMachineTemplate" } };
    t.same(used(ofCAPI(kind, { clusterName: "unknown", template: { spec: docker } })), [], kind);
  }
  t.same(used(ofCAPI("Cluster", {}, "b")), B_ALL);
  t.same(used(ofCAPI("Cluster", {}, "new")), []);
  t.same(used(ofCAPI("Cluster", {}, "")), [], "a generated name");
  const infrastructureRef = { kind: "AWSCluster", name: "a" };
  const controlPlaneRef = { kind: "KubeadmControlPlane", name: "a" };
  t.same(used(ofCAPI("Cluster", { infrastructureRef, controlPlaneRef }, "new")), [A]);
  t.same(used(ofCAPI("Cluster", { infrastructureRef: { kind: "AWSCluster" } }, "new")), []);
  const plane = { ...machine("b", {}, "KubeadmControlPlane"), apiVersion: "controlplane.cluster.x-k8s.io/v1beta1" };
  t.same(used(plane), B_ALL);
  t.same(used(withFields(plane, "metadata", { labels: {} })), [], "no Cluster names it yet");
  t.same(used({ ...ofCAPI("MachineHealthCheck", { clusterName: "b" }) }), []);
  t.end();
});

test("a machine uses every identity until the webhook has listed all clusters", (t) => {
  const unlisted = new Inventory({ runtime: "ack", origin: "cluster" }, INVENTORY_KINDS);
  unlisted.apply([{ type: "unlisted", store: REFERRERS, item: "AWSCluster" }]);
  t.same(used({ apiVersion: CAPI, kind: "Cluster", metadata: { name: "c", namespace: "ns1" } }, { from: unlisted }), [
    "every",
  ]);
  t.end();
});

/** Returns the findings of AC-05 for a new object. Each access review returns `access`. */
function lines(object: JsonObject, access: Access): string[] {
  const requester = { username: "jane", groups: [] };
  const settings = { ...SETTINGS, checkSeverities: new Map([["AC-05", "deny"] as const]) };
  const keys = identityUses(object, null, { inventory, operation: "CREATE", requester, settings }).keys();
  const { findings } = runChecks({
    object, old: null, requester, origin: "cluster", inventory,
    access: new Map(Array.from(keys, (key) => [key, access])),
  }, settings);
  return findings.filter(({ code }) => code === "AC-05").map((one) => `${one.severity} ${findingLine(one)}`);
}

test("AC-05 states the Cluster of the identity, and how an unknown identity becomes known", (t) => {
  const path = `deny AC-05 metadata.labels[${LABEL}]: `;
  t.same(lines(machine("a"), "denied"), [
    `${path}the requester may not use AWSClusterRoleIdentity "a", the identity of Cluster "a". Create a Role in `
    + "namespace ns1 with the rule apiGroups: [infrastructure.cluster.x-k8s.io], resources: "
    + "[awsclusterroleidentities], resourceNames: [a], verbs: [use], and a RoleBinding in that namespace that grants "
    + "it to the requester.",
  ]);
  t.same(lines(machine("x"), "denied"), [
    `${path}no AWSCluster or control plane belongs to Cluster "x", so the requester needs the verb use on every `
    + `identity. First create the AWSCluster or control plane with the label ${LABEL}: x.`,
  ]);
  const unlabeled = / the label .* is missing, so .* Set the label .* to the name of its Cluster\.$/;
  t.match(lines(machine(null), "denied"), [unlabeled]);
  t.match(lines(machine("x"), "unknown"), [/could not verify that the requester may use every identity, .* Retry in/]);
  t.same(lines(machine("a"), "allowed"), []);
  const huge = machine("a", { values: Array.from({ length: 50_001 }, () => "a") });
  t.same(lines(huge, "denied"), [], "AC-08 denies the object");
  const { findings } = runChecks({
    object: huge, old: null, operation: "DELETE", requester: { username: "jane", groups: [] }, origin: "cluster",
    inventory, access: new Map(),
  }, { ...SETTINGS, checkSeverities: new Map([["AC-05", "deny"] as const]) });
  t.same(findings.map(({ code }) => code), ["AC-05"], "a large object can be deleted");
  t.end();
});
