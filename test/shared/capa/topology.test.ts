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
const SELECTOR = {
  apiVersion: INFRASTRUCTURE, kind: "AWSClusterTemplate", matchResources: { infrastructureCluster: true },
};
const patch = (...jsonPatches: readonly unknown[]): JsonObject => (
  { definitions: [{ selector: SELECTOR, jsonPatches }] }
);
const patchFor = (selector: JsonObject): JsonObject => (
  { definitions: [{ selector: { ...SELECTOR, ...selector }, jsonPatches: [allFrom({ variable: "x" })] }] }
);
const EXTERNAL = { name: "e", external: { generatePatchesExtension: "e.ext" } };

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
/** A class with a managed control plane, whose identityRef is a variable. */
function managedClass(matchResources: JsonObject, infrastructure: JsonObject = {}): JsonObject {
  const apiVersion = "controlplane.cluster.x-k8s.io/v1beta2";
  const kind = "AWSManagedControlPlaneTemplate";
  const jsonPatches = [allFrom({ variable: "identity" })];
  const patches = [{ definitions: [{ selector: { apiVersion, kind, matchResources }, jsonPatches }] }];
  const controlPlane = { ref: { apiVersion, kind } };
  return classWith([...patches, patch(...jsonPatches)], { infrastructure, controlPlane });
}
const overriding = (name: string, value: unknown): JsonObject => (
  { class: "c", controlPlane: { variables: { overrides: [{ name, value }] } } }
);
const byDefault = (value: unknown): JsonObject => (
  { variables: [{}, { name: "other" }, { name: "identity", schema: { openAPIV3Schema: { default: value } } }] }
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
  ["the control plane", [managedClass({ controlPlane: true }), clusterWith({ identity: ROLE_A })], A],
  ["an override for the control plane", [
    managedClass({ controlPlane: true }),
    clusterWith({ identity: ROLE_A }, overriding("identity", { ...ROLE_A, name: "b" })),
  ], B],
  ["an override of another variable", [
    managedClass({ controlPlane: true }), clusterWith({ identity: ROLE_A }, overriding("x", "b")),
  ], A],
  ["an override, which is not for the infrastructure", [
    managedClass({ controlPlane: true }, { ref: { ...TEMPLATE, name: "aws" } }),
    clusterWith({ identity: ROLE_A }, overriding("identity", { ...ROLE_A, name: "b" })),
  ], A, B],
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
  ["a class that is not known, and an override that seems to be an identity",
    [clusterWith({}, { ...overriding("awsIdentityName", "b"), class: "unknown" })]],
  ["an external patch", [classWith([EXTERNAL]), clusterWith({})]],
  ["an external patch after another one", [
    classWith([patch(nameFrom({ variable: "identity" })), EXTERNAL]), clusterWith({ identity: "b" }),
  ]],
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
  ["patches of another version of the kind", [
    classWith([patchFor({ apiVersion: `${INFRASTRUCTURE_GROUP}/v1beta1` })]), clusterWith({ x: ROLE_A }),
  ]],
  ["patches without a version", [classWith([patchFor({ apiVersion: undefined })]), clusterWith({ x: ROLE_A })]],
  ["patches of another part", [
    classWith([
      patchFor({ matchResources: { controlPlane: true } }), patchFor({ matchResources: undefined }),
      patchFor({ matchResources: { infrastructureCluster: false, machineDeploymentClass: { names: ["*"] } } }),
    ]), clusterWith({ x: ROLE_A }),
  ]],
  ["patches of the infrastructure for a control plane", [
    managedClass({ infrastructureCluster: true }), clusterWith({ identity: ROLE_A }),
  ]],
  ["an external patch of another provider", [classWith([EXTERNAL], { infrastructure: {} }), clusterWith({})]],
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

test("each field leads to the override of a variable", (t) => {
  const cluster = clusterWith({ identity: ROLE_A }, overriding("identity", { ...ROLE_A, name: "b" }));
  const [derived] = deriveClusters([managedClass({ controlPlane: true }), cluster]).objects;
  t.equal(derived?.object["kind"], "AWSManagedControlPlane");
  t.equal(formatFieldPath(derived?.pathOf(["spec", "identityRef", "name"]) ?? []),
    "spec.topology.controlPlane.variables.overrides[0].value.name");
  t.end();
});

test("reads each variable once for a Cluster, and each patch once for a class", (t) => {
  const read = { variables: 0, patches: 0 };
  const variables = Array.from({ length: 100 }, (_, i) => ({
    get name() {
      read.variables += 1;
      return `v${i}`;
    },
    value: "b",
  }));
  const patches = Array.from({ length: 100 }, () => ({
    op: "replace", valueFrom: { variable: "v99" },
    get path() {
      read.patches += 1;
      return `${REFERENCE}/name`;
    },
  }));
  const clusters = ["p", "q"].map((name) => {
    const spec = { topology: { class: "c", variables } };
    return { ...clusterWith({}), metadata: { name, namespace: "team-a" }, spec };
  });
  t.same(references(classWith([patch(...patches)]), clusters[0] ?? {}), [B]);
  const { patches: once } = read;
  t.equal(read.variables, 100);
  t.same(references(classWith([patch(...patches)]), ...clusters), [B, B]);
  t.strictSame(read, { variables: 300, patches: 2 * once }, "the second time, two Clusters");
  t.end();
});
