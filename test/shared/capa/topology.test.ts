import { test } from "tap";
import { deriveClusters } from "../../../shared/capa/topology.ts";
import { formatFieldPath, type JsonObject } from "../../../shared/formats/json.ts";
import { INFRASTRUCTURE_GROUP } from "../../../shared/core/capa-kinds.ts";
import { testRows } from "../rows.ts";

const INFRASTRUCTURE = `${INFRASTRUCTURE_GROUP}/v1beta2`;
const REFERENCE = "/spec/template/spec/identityRef";
const ROLE_A = { kind: "AWSClusterRoleIdentity", name: "a" };
const TEMPLATE: JsonObject = {
  apiVersion: INFRASTRUCTURE, kind: "AWSClusterTemplate", metadata: { name: "aws", namespace: "team-a" },
  spec: { template: { spec: { region: "eu-west-1", identityRef: ROLE_A } } },
};

const nameFrom = (valueFrom: JsonObject): JsonObject => ({ op: "replace", path: `${REFERENCE}/name`, valueFrom });
const allFrom = (valueFrom: JsonObject): JsonObject => ({ op: "add", path: REFERENCE, valueFrom });
const patch = (...jsonPatches: readonly unknown[]): JsonObject => (
  { definitions: [{ selector: { kind: "AWSClusterTemplate" }, jsonPatches }] }
);

function classWith(patches: readonly unknown[], rest: JsonObject = {}): JsonObject {
  const ref = { apiVersion: INFRASTRUCTURE, kind: "AWSClusterTemplate", name: "aws" };
  return {
    apiVersion: "cluster.x-k8s.io/v1beta1", kind: "ClusterClass", metadata: { name: "c", namespace: "team-a" },
    spec: { infrastructure: { ref }, patches, ...rest },
  };
}

function clusterWith(variables: JsonObject, topology: JsonObject = { class: "c" }, spec: JsonObject = {}): JsonObject {
  const all = Object.entries(variables).map(([name, value]) => ({ name, value }));
  return {
    apiVersion: "cluster.x-k8s.io/v1beta1", kind: "Cluster", metadata: { name: "prod", namespace: "team-a" },
    spec: { topology: { ...topology, variables: all }, ...spec },
  };
}

/** Returns the references of the objects that result, or what cannot be computed. */
function references(...objects: readonly JsonObject[]): unknown[] {
  const { objects: derived, unknown } = deriveClusters([TEMPLATE, ...objects]);
  const computed = derived.map(({ object }) => JSON.stringify(Object(object["spec"]).identityRef));
  return [...computed, ...unknown.map(() => "?")];
}

const A = JSON.stringify(ROLE_A);
const B = JSON.stringify({ ...ROLE_A, name: "b" });
const given = (variables: JsonObject, ...jsonPatches: readonly unknown[]): readonly JsonObject[] => (
  [classWith([patch(...jsonPatches)]), clusterWith(variables)]
);
const byDefault = (value: unknown): JsonObject => (
  { variables: [{ name: "other" }, { name: "identity", schema: { openAPIV3Schema: { default: value } } }] }
);

testRows("computes the identityRef that patches set from variables", (objects: readonly JsonObject[]) => (
  references(...objects).map(String)
), [
  ["the name", given({ identity: "b" }, nameFrom({ variable: "identity" })), B],
  ["a field of a variable", given({ identity: { name: "b" } }, nameFrom({ variable: "identity.name" })), B],
  ["a whole reference", given({ identity: { ...ROLE_A, name: "b" } }, allFrom({ variable: "identity" })), B],
  ["a kind and a name, one after the other", given({ kind: "K", name: "n" },
    { op: "add", path: REFERENCE, value: {} },
    { op: "add", path: `${REFERENCE}/kind`, valueFrom: { variable: "kind" } },
    nameFrom({ variable: "name" })), '{"kind":"K","name":"n"}'],
  ["a later patch", given({ identity: "b" }, nameFrom({ variable: "identity" }), allFrom({ variable: "x" }),
    { op: "replace", path: REFERENCE, value: ROLE_A }), "?"],
  ["a fixed reference", given({}, { op: "replace", path: REFERENCE, value: { ...ROLE_A, name: "b" } }), B],
  ["a template of one variable", given({ identity: "b" }, nameFrom({ template: "{{ .identity }}" })), B],
  ["a template of the name of the Cluster", given({}, nameFrom({ template: "{{- .builtin.cluster.name -}}\n" })),
    JSON.stringify({ ...ROLE_A, name: "prod" })],
  ["the default of a variable", [
    classWith([patch(nameFrom({ variable: "identity" }))], byDefault("b")), clusterWith({}),
  ], B],
  ["the value instead of the default", [
    classWith([patch(nameFrom({ variable: "identity" }))], byDefault("x")), clusterWith({ identity: "b" }),
  ], B],
  ["a class of another namespace, and templateRef", [
    { ...classWith([patch(nameFrom({ variable: "identity" }))], {
      infrastructure: { templateRef: { apiVersion: INFRASTRUCTURE, kind: "AWSClusterTemplate", name: "aws" } },
    }), metadata: { name: "c", namespace: "team-a" } },
    { ...clusterWith({ identity: "b" }, { classRef: { name: "c", namespace: "team-a" } }), metadata: { name: "p" } },
  ], B],
  ["classNamespace", [
    classWith([patch(nameFrom({ variable: "identity" }))]),
    { ...clusterWith({ identity: "b" }, { class: "c", classNamespace: "team-a" }), metadata: { name: "p" } },
  ], B],
  ["the control plane", [
    classWith([{ definitions: [{
      selector: { kind: "AWSManagedControlPlaneTemplate" }, jsonPatches: [allFrom({ variable: "identity" })],
    }] }], { infrastructure: {}, controlPlane: { ref: {
      apiVersion: "controlplane.cluster.x-k8s.io/v1beta2", kind: "AWSManagedControlPlaneTemplate",
    } } }), clusterWith({ identity: ROLE_A }),
  ], A],
]);

const unknownRows: readonly (readonly [string, readonly JsonObject[]])[] = [
  ["a variable without a value", given({}, nameFrom({ variable: "identity" }))],
  ["a field that the variable lacks", given({ identity: {} }, nameFrom({ variable: "identity.name" }))],
  ["a template with several variables", given({ identity: "b" }, nameFrom({ template: "{{ .identity }}-x" }))],
  ["a template of a variable without a value", given({}, nameFrom({ template: "{{ .identity }}" }))],
  ["a template of an object", given({ identity: {} }, nameFrom({ template: "{{ .identity }}" }))],
  ["a template of a number", given({ identity: "1e3" }, nameFrom({ template: "{{ .identity }}" }))],
  ["no value", given({}, nameFrom({}))],
  ["a removal", given({}, { op: "remove", path: REFERENCE })],
  ["another field of the reference", given({}, { op: "add", path: `${REFERENCE}/x`, value: 1 })],
  ["the whole spec", given({}, { op: "add", path: "/spec/template/spec", value: {} })],
  ["a patch without a path", given({}, { op: "add", value: {} })],
  ["a conditional patch", [
    classWith([{ ...patch(nameFrom({ variable: "identity" })), enabledIf: "{{ .x }}" }]),
    clusterWith({ identity: "b" }),
  ]],
  ["a name without a reference", [
    classWith([patch(nameFrom({ variable: "identity" }))], {
      infrastructure: { ref: { apiVersion: INFRASTRUCTURE, kind: "AWSClusterTemplate", name: "unknown" } },
    }), clusterWith({ identity: "b" }),
  ]],
  ["a class that is not known, and a variable that seems to be an identity",
    [clusterWith({ awsIdentityName: "b" }, { class: "unknown" })]],
];

testRows("counts what it cannot compute", (objects: readonly JsonObject[]) => references(...objects).map(String),
  unknownRows.map(([what, objects]) => [what, objects, "?"] as const));

testRows("derives nothing else", (objects: readonly JsonObject[]) => references(...objects).map(String), [
  ["no Cluster", [classWith([patch(allFrom({ variable: "x" }))])]],
  ["a Cluster of another group", [{ ...clusterWith({ identity: "b" }, {}), apiVersion: "example.com/v1" }]],
  ["a Cluster without a topology", [{ ...clusterWith({}), spec: {} }]],
  ["a Cluster with its objects", [
    classWith([patch(allFrom({ variable: "x" }))]),
    clusterWith({ x: ROLE_A }, { class: "c" }, { infrastructureRef: {} }),
  ]],
  ["a class that is not known", [clusterWith({ identity: ROLE_A, x: "b" }, {})]],
  ["a variable without a name", [{ ...clusterWith({}), spec: { topology: { variables: [{ value: "b" }] } } }]],
  ["a class without patches", [classWith([]), clusterWith({})]],
  ["patches of another kind and of another field", given({ x: "b" },
    { op: "add", path: "/spec/template/spec/region", value: "x" }, { op: "add", path: `${REFERENCE}s`, value: {} }, 1)],
  ["a template of another provider", [
    classWith([patch(allFrom({ variable: "x" }))], { infrastructure: { ref: {} }, controlPlane: { ref: {
      apiVersion: INFRASTRUCTURE, kind: "AWSCluster",
    } } }), clusterWith({ x: ROLE_A }),
  ]],
]);

test("the object has the name of the Cluster, and the region of the template", (t) => {
  const objects = given({ identity: "b" }, nameFrom({ variable: "identity" }));
  const [derived] = deriveClusters([TEMPLATE, ...objects]).objects;
  t.strictSame(derived?.object, {
    apiVersion: INFRASTRUCTURE, kind: "AWSCluster",
    metadata: { name: "prod", namespace: "team-a", labels: { "cluster.x-k8s.io/cluster-name": "prod" } },
    spec: { region: "eu-west-1", identityRef: { kind: "AWSClusterRoleIdentity", name: "b" } },
  });
  const other = { ...clusterWith({ x: ROLE_A }), metadata: { name: "b" } };
  const [ofDefault] = deriveClusters([{ ...classWith([patch(allFrom({ variable: "x" }))]), metadata: { name: "c" } },
    other]).objects;
  t.strictSame(ofDefault?.object["metadata"], { name: "b", labels: { "cluster.x-k8s.io/cluster-name": "b" } });
  t.strictSame(ofDefault?.object["spec"], { identityRef: ROLE_A });
  t.end();
});

test("each field leads to the variable in the Cluster, or else to the topology", (t) => {
  const places = (objects: readonly JsonObject[]): string[] => {
    const [derived] = deriveClusters([TEMPLATE, ...objects]).objects;
    return [["metadata", "name"], ["spec", "identityRef"], ["spec", "identityRef", "name"], []]
      .map((path) => formatFieldPath(derived?.pathOf(path) ?? ["none"]));
  };
  const value = "spec.topology.variables[0].value";
  t.same(places(given({ id: ROLE_A }, allFrom({ variable: "id" }))), ["metadata.name", value, `${value}.name`, value]);
  t.same(places(given({ id: "b" }, nameFrom({ variable: "id" }))), ["metadata.name", value, value, value]);
  const whole = { op: "add", path: REFERENCE, value: ROLE_A };
  t.same(places(given({ id: { n: "b" } }, whole, nameFrom({ variable: "id.n" }))),
    ["metadata.name", `${value}.n`, `${value}.n`, `${value}.n`]);
  t.same(places(given({}, whole)),
    ["metadata.name", "spec.topology", "spec.topology", "spec.topology"]);
  t.end();
});
