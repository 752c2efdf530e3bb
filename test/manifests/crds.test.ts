import { test } from "tap";
import { type CRDSchema, iamRoleSelectorCRD } from "../../manifests/crds.ts";
import type { Runtime } from "../../shared/decisions/context.ts";
import { SELECTOR_SPEC_SCHEMA, type StructuralSchema } from "../../shared/decisions/selectors/schema.ts";

function schemaOf(runtime: Runtime): CRDSchema {
  const [version] = iamRoleSelectorCRD(runtime).spec.versions;
  return version?.schema.openAPIV3Schema ?? { type: "object" };
}

/** Every schema below `schema` with its place, as `spec.resourceTypeSelector[].group`. */
function* places(schema: CRDSchema, place = ""): Iterable<readonly [place: string, schema: CRDSchema]> {
  yield [place, schema];
  for (const [name, child] of Object.entries(schema.properties ?? {})) yield* places(child, place === "" ? name : `${place}.${name}`);
  if (schema.items !== undefined) yield* places(schema.items, `${place}[]`);
  if (schema.additionalProperties !== undefined) yield* places(schema.additionalProperties, `${place}{}`);
}

function rules(runtime: Runtime): Record<string, string> {
  const found = [...places(schemaOf(runtime))].flatMap(([place, schema]) => (schema["x-kubernetes-validations"] ?? []).map(({ rule }) => [place, rule] as const));
  return Object.fromEntries(found);
}

const ALWAYS = {
  "": "!has(oldSelf.spec) || !has(oldSelf.spec.arn) || (has(self.spec) && has(self.spec.arn) && self.spec.arn == oldSelf.spec.arn)",
  "spec.namespaceSelector.labelSelector.matchLabels": "self.all(key, dyn(self[key]) != null)",
  "spec.resourceTypeSelector[]": "!has(self.apiVersion)",
  "spec.resourceLabelSelector.matchLabels": "self.all(key, dyn(self[key]) != null)",
};

test("the rules stand where what they refuse is, matchExpressions only for shipped controllers", (t) => {
  t.same(rules("extended"), ALWAYS);
  t.same(rules("ack"), {
    ...ALWAYS,
    "spec.namespaceSelector.labelSelector.matchExpressions": "self.size() == 0",
    "spec.resourceLabelSelector.matchExpressions": "self.size() == 0",
  });
  t.end();
});

test("the rules and null labels aside, the types are those that the checks go by", (t) => {
  t.same(typesAlone(schemaOf("ack").properties?.["spec"]), SELECTOR_SPEC_SCHEMA);
  t.end();
});

function typesAlone(schema: CRDSchema | undefined): StructuralSchema | undefined {
  return JSON.parse(JSON.stringify(schema), (key, value: unknown) => (key === "x-kubernetes-validations" || key === "nullable" ? undefined : value));
}

test("nothing is required, defaulted, or kept unknown", (t) => {
  const text = JSON.stringify(iamRoleSelectorCRD("ack"));
  for (const word of ['"required"', '"default"', "x-kubernetes-preserve-unknown-fields"]) t.notMatch(text, word);
  t.end();
});

test("it is the resource that ACK's controllers watch", (t) => {
  const { metadata, spec } = iamRoleSelectorCRD("ack");
  t.equal(metadata.name, "iamroleselectors.services.k8s.aws");
  t.match(spec, {
    group: "services.k8s.aws",
    scope: "Cluster",
    names: { kind: "IAMRoleSelector", listKind: "IAMRoleSelectorList", plural: "iamroleselectors", singular: "iamroleselector", categories: ["ack"] },
    versions: [{ name: "v1alpha1", served: true, storage: true, subresources: { status: {} } }],
  });
  t.end();
});
