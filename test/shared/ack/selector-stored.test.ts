import { test } from "tap";
import { ACK_SPEC_SCHEMA } from "../../../shared/core/iamroleselector.ts";
import { SELECTOR_SPEC_SCHEMA } from "../../../shared/core/selector-schema.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { kindObject, ROLE, selectorObject } from "../objects.ts";
import { changeLines, findingsOf, linesOf, needsOf } from "../core/findings.ts";
import { testRows } from "../rows.ts";

const irs07 = (message: string): string => `deny IRS-07 spec.arn: ${message}. Create a selector that has another `
  + `name, the `
  + "new role and the annotation ack-role-resolver.io/replaces: NAME of this selector. Delete this selector once no "
  + "resource needs it.";
const REMOVED = irs07(`the role "${ROLE}" is removed`);

testRows("IRS-07: denies an update that changes or removes the role", ([spec, old]: [unknown, unknown]) =>
  changeLines("IRS-07", spec, { old: selectorObject("team-a", old) }), [
  ["another role", [{ arn: `${ROLE}-2` }, { arn: ROLE }], irs07(`the role changes from "${ROLE}" to "${ROLE}-2"`)],
  ["no spec", [undefined, { arn: ROLE }], REMOVED],
  ["a null spec", [null, { arn: ROLE }], REMOVED],
  ["an empty spec", [{}, { arn: ROLE }], REMOVED],
  ["a null role", [{ arn: null }, { arn: ROLE }], REMOVED],
  ["the same role", [{ arn: ROLE, namespaceSelector: { names: ["a"] } }, { arn: ROLE }]],
  ["no stored spec", [{ arn: ROLE }, undefined]],
  ["no stored role", [{ arn: ROLE }, { namespaceSelector: { names: ["a"] } }]],
]);

test("IRS-07: cannot be waived, and requires the stored object", (t) => {
  const old = selectorObject("team-a", { arn: ROLE });
  t.match(findingsOf("IRS-07", selectorObject("team-a", {}), { old }), [{ waivable: false }]);
  t.equal(needsOf("IRS-07", { arn: ROLE }), "the stored object");
  t.end();
});

const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";
const matchExpressions = [{ key: "team", operator: "Exists" }];
/** The schema in ACK's charts, which defines neither matchExpressions nor the apiVersion of a type entry. */
const NARROW = { type: "object", properties: { spec: ACK_SPEC_SCHEMA, status: { type: "object" } } };
/** A schema that defines matchExpressions in addition to the fields of ACK's charts. */
const WIDE = { type: "object", properties: { spec: SELECTOR_SPEC_SCHEMA, status: { type: "object" } } };
const KEPT = { "x-kubernetes-preserve-unknown-fields": true };
const definition = (openAPIV3Schema?: unknown): JsonObject => kindObject("IAMRoleSelector", "services.k8s.aws", [{
  name: "v1alpha1", storage: true, served: true,
  ...(openAPIV3Schema === undefined ? {} : { schema: { openAPIV3Schema } }),
}]);
const selector = (text: string, stored: JsonObject = { arn: ROLE }, extra: JsonObject = {}): JsonObject =>
  selectorObject("team-a", stored, { annotations: { [LAST_APPLIED]: text, ...extra } });
const appliedText = (spec: JsonObject): string => JSON.stringify(selectorObject("team-a", spec));

type Input = readonly [applied: JsonObject, stored: JsonObject, openAPIV3Schema?: unknown];
/** Returns the lines of IRS-16 for a selector that was applied as `applied` and stored as `stored`. */
const pruned = ([spec, kept, schema]: Input): string[] => linesOf("IRS-16", selector(appliedText(spec), kept), {
  known: schema === undefined ? [] : [definition(schema)], settings: { runtime: "extended" },
});
const line = (path: string, effect = ""): string => `deny IRS-16 ${path}: the API server pruned this field of the `
  + `applied manifest: the CRD does not define it${effect}. `
  + "Use the fields that the CRD defines (kubectl explain iamroleselector.spec), "
  + "or install the CRD that the command `ack-role-resolver manifests crds` prints.";

const labelSelector = { matchLabels: {}, matchExpressions };
const applied = { arn: ROLE, namespaceSelector: { names: [], labelSelector }, roleARN: ROLE };
const stored = { arn: ROLE, namespaceSelector: { names: [], labelSelector: { matchLabels: {} } } };
const OTHER = { arn: ROLE, other: { a: 1 } };
const ALL = ", so the selector selects every namespace";
const BOTH = [line("spec.namespaceSelector.labelSelector.matchExpressions", ALL), line("spec.roleARN")] as const;
const MISSPELT = { arn: ROLE, namespaceSelectors: { names: ["a"] } };

testRows("IRS-16: denies a selector if the API server pruned a field of the applied manifest", pruned, [
  ["two fields", [applied, stored, NARROW], ...BOTH],
  ["the schema of ACK's charts is the default", [applied, stored], ...BOTH],
  ["the schema of this project defines expressions", [applied, stored, WIDE], line("spec.roleARN")],
  ["a misspelt restriction", [MISSPELT, { arn: ROLE }], line("spec.namespaceSelectors", ALL)],
  ["a misspelt restriction beside the correct one",
    [MISSPELT, { arn: ROLE, namespaceSelector: { names: ["b"] } }], line("spec.namespaceSelectors")],
  ["the API server stored the field", [applied, { ...applied }, NARROW]],
  ["null and empty fields",
    [{ roleARN: null, namespaceSelector: { labelSelector: { matchExpressions: [] } } }, stored, NARROW]],
  ["unknown fields outside the spec are kept", [applied, { arn: ROLE }, { ...NARROW, ...KEPT }], line("spec.roleARN")],
  ["a later edit removed the parent field",
    [{ arn: ROLE, namespaceSelector: applied.namespaceSelector }, { arn: ROLE }, NARROW]],
  ["unknown fields of the spec are kept", [OTHER, { arn: ROLE }, { properties: { spec: KEPT } }]],
  ["additional properties", [OTHER, { arn: ROLE }, { properties: { spec: { additionalProperties: true } } }]],
  ["additional properties without fields",
    [OTHER, { arn: ROLE, other: {} }, { properties: { spec: { additionalProperties: { properties: {} } } } }],
    line("spec[other].a")],
]);

const group = "s3.services.k8s.aws";
const APIVERSION = line("spec.resourceTypeSelector[0].apiVersion");
testRows("IRS-16: denies a pruned apiVersion unless the webhook rewrote the type entry",
  ([rewritten, apiVersion = `${group}/v1alpha1`]: [JsonObject[] | undefined, string?]) => pruned([
    { arn: ROLE, resourceTypeSelector: [{ apiVersion, kind: "Bucket" }] },
    { arn: ROLE, resourceTypeSelector: rewritten }, NARROW,
  ]), [
    ["rewritten", [[{ group, version: "v1alpha1", kind: "Bucket" }]]],
    ["empty fields", [[{ group: "", version: "", kind: "Bucket" }]], APIVERSION],
    ["another version", [[{ group, version: "v1", kind: "Bucket" }]], APIVERSION],
    ["another kind", [[{ group, version: "v1alpha1", kind: "Object" }]], APIVERSION],
    ["a malformed apiVersion", [[{ kind: "Bucket" }], "v1"], APIVERSION],
    ["the entry was removed", [[]]],
    ["the list was removed", [undefined]],
  ]);

const ROLE_ARN = appliedText({ arn: ROLE, roleARN: ROLE });
test("IRS-16: ignores a last-applied annotation that is not a JSON object, and a CRD without a schema", (t) => {
  for (const text of ["{", "[]", "null", '"x"', "{}"]) t.same(linesOf("IRS-16", selector(text)), [], text);
  t.same(changeLines("IRS-16", { arn: ROLE }), []);
  t.same(linesOf("IRS-16", selector(ROLE_ARN), { known: [definition()] }), [line("spec.roleARN")]);
  t.end();
});

test("IRS-16: can be waived, and only warns about a field that was already pruned in the stored object", (t) => {
  t.match(linesOf("IRS-16", selector(ROLE_ARN), { old: selector(ROLE_ARN) }), [/^warn IRS-16/]);
  const waived = selector(ROLE_ARN, { arn: ROLE }, { "ack-role-resolver.io/allow": "IRS-16" });
  t.match(linesOf("IRS-16", waived), [/^warn \(waived\) IRS-16/]);
  t.end();
});
