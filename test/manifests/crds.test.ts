import { serviceAccountIdentityCRD } from "../../manifests/capa/parts.ts";
import { test } from "tap";
import { type CRDSchema, iamRoleSelectorCRD } from "../../manifests/crds.ts";
import type { Runtime } from "../../shared/core/context.ts";
import { SELECTOR_SPEC_SCHEMA, type StructuralSchema } from "../../shared/core/selector-schema.ts";
import { field, isJsonObject } from "../../shared/formats/json.ts";
import { servedKind } from "../../shared/sources/cluster-kinds.ts";

function schemaOf(runtime: Runtime): CRDSchema {
  const [version] = iamRoleSelectorCRD(runtime).spec.versions;
  return version?.schema.openAPIV3Schema ?? { type: "object" };
}

/** Yields the schema and every nested schema, each with its path, such as `spec.resourceTypeSelector[].group`. */
function* schemas(schema: CRDSchema, path = ""): Iterable<readonly [path: string, schema: CRDSchema]> {
  yield [path, schema];
  for (const [name, child] of Object.entries(schema.properties ?? {})) {
    yield* schemas(child, path === "" ? name : `${path}.${name}`);
  }
  if (schema.items !== undefined) yield* schemas(schema.items, `${path}[]`);
  if (schema.additionalProperties !== undefined) yield* schemas(schema.additionalProperties, `${path}{}`);
}

function rules(runtime: Runtime): Record<string, string> {
  const found = [...schemas(schemaOf(runtime))].flatMap(([path, schema]) => (
    (schema["x-kubernetes-validations"] ?? []).map(({ rule }) => [path, rule] as const)
  ));
  return Object.fromEntries(found);
}

const ALWAYS = {
  "": "!has(oldSelf.spec) || !has(oldSelf.spec.arn) || "
    + "(has(self.spec) && has(self.spec.arn) && self.spec.arn == oldSelf.spec.arn)",
  "spec.namespaceSelector.labelSelector.matchLabels": "self.all(key, dyn(self[key]) != null)",
  "spec.resourceTypeSelector[]": "!has(self.apiVersion)",
  "spec.resourceLabelSelector.matchLabels": "self.all(key, dyn(self[key]) != null)",
};

test("the CRD has a rule for each field that it rejects, and rejects matchExpressions with --runtime ack", (t) => {
  t.same(rules("extended"), ALWAYS);
  t.same(rules("ack"), {
    ...ALWAYS,
    "spec.namespaceSelector.labelSelector.matchExpressions": "self.size() == 0",
    "spec.resourceLabelSelector.matchExpressions": "self.size() == 0",
  });
  t.end();
});

test("the CRD and check IRS-00 have the same schema, except for the rules and null labels in the CRD", (t) => {
  t.same(typesOf(schemaOf("ack").properties?.["spec"]), SELECTOR_SPEC_SCHEMA);
  t.end();
});

function typesOf(schema: CRDSchema | undefined): StructuralSchema | undefined {
  const isAddition = (key: string): boolean => key === "x-kubernetes-validations" || key === "nullable";
  return JSON.parse(JSON.stringify(schema), (key, value: unknown) => (isAddition(key) ? undefined : value));
}

test("the CRD has no required fields and no defaults, and does not preserve unknown fields", (t) => {
  const text = JSON.stringify(iamRoleSelectorCRD("ack"));
  for (const word of ['"required"', '"default"', "x-kubernetes-preserve-unknown-fields"]) t.notMatch(text, word);
  t.end();
});

test("the CRD has the group, names, scope and version of ACK's iamroleselectors", (t) => {
  const { metadata, spec } = iamRoleSelectorCRD("ack");
  t.equal(metadata.name, "iamroleselectors.services.k8s.aws");
  t.match(spec, {
    group: "services.k8s.aws",
    scope: "Cluster",
    names: {
      kind: "IAMRoleSelector", listKind: "IAMRoleSelectorList", plural: "iamroleselectors", singular: "iamroleselector",
      categories: ["ack"],
    },
    versions: [{ name: "v1alpha1", served: true, storage: true, subresources: { status: {} } }],
  });
  t.end();
});

test("the CRD of AWSServiceAccountIdentity defines a namespaced kind that a cluster source lists", (t) => {
  const crd = { ...serviceAccountIdentityCRD(), status: { conditions: [{ type: "Established", status: "True" }] } };
  t.match(isJsonObject(crd) ? servedKind(crd) : null, {
    group: "infrastructure.cluster.x-k8s.io", version: "v1beta2", kind: "AWSServiceAccountIdentity",
    plural: "awsserviceaccountidentities",
  });
  t.match(crd, { metadata: { name: "awsserviceaccountidentities.infrastructure.cluster.x-k8s.io" } });
  t.end();
});

test("the CRD of AWSServiceAccountIdentity has the defaults and the limits of the parameters", (t) => {
  const [version] = serviceAccountIdentityCRD().spec.versions;
  t.match(field(field(version?.schema.openAPIV3Schema, "properties"), "spec"), {
    required: ["roleARN"],
    properties: {
      audiences: { default: ["sts.amazonaws.com"], items: { maxLength: 255 } },
      policyARNs: { maxItems: 10, items: { maxLength: 2048 } },
      durationSeconds: { minimum: 900, maximum: 43_200 },
      expirationSeconds: { default: 86_400, minimum: 600 },
      inlinePolicy: { maxLength: 2048 },
    },
  });
  t.end();
});
