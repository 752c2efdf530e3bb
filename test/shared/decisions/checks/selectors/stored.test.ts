import { test } from "tap";
import { findingLine } from "../../../../../shared/checks/check.ts";
import { ACK_SPEC_SCHEMA } from "../../../../../shared/model/ack-selector-schema.ts";
import { SELECTOR_SPEC_SCHEMA } from "../../../../../shared/model/selector-schema.ts";
import type { JsonObject } from "../../../../../shared/formats/json.ts";
import { kindObject, ROLE, selectorObject } from "../../objects.ts";
import { changeLines, findingsOf, needsOf } from "../selector-changes.ts";

const FIX_07 =
  "Create a selector that has another name, the new role and the annotation ack-role-resolver.io/replaces: NAME of "
    + "this selector. Delete this selector once no resource needs it.";

test("IRS-07: denies an update that changes or removes the role", (t) => {
  const old = selectorObject("team-a", { arn: ROLE });
  const to = (spec: unknown): string[] => changeLines("IRS-07", spec, { old });
  t.same(to({ arn: `${ROLE}-2` }), [`IRS-07 spec.arn: the role changes from "${ROLE}" to "${ROLE}-2". ${FIX_07}`]);
  for (const spec of [undefined, null, {}, { arn: null }])
    t.same(to(spec), [`IRS-07 spec.arn: the role "${ROLE}" is removed. ${FIX_07}`]);
  t.match(findingsOf("IRS-07", selectorObject("team-a", {}), { old }), [{ severity: "deny", waivable: false }]);
  t.end();
});

test("IRS-07: allows an unchanged role, and a new role if the stored selector has none", (t) => {
  t.same(
    changeLines(
      "IRS-07",
      { arn: ROLE, namespaceSelector: { names: ["a"] } },
      { old: selectorObject("team-a", { arn: ROLE }) },
    ),
    [],
  );
  for (const spec of [undefined, {}, { namespaceSelector: { names: ["a"] } }])
    t.same(changeLines("IRS-07", { arn: ROLE }, { old: selectorObject("team-a", spec) }), []);
  t.equal(needsOf("IRS-07", { arn: ROLE }), "the stored object");
  t.end();
});

const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";
const EXPRESSIONS = [{ key: "team", operator: "Exists" }];
/** The schema in ACK's charts, which defines neither matchExpressions nor the apiVersion of a type entry. */
const NARROW: JsonObject = { type: "object", properties: { spec: ACK_SPEC_SCHEMA, status: { type: "object" } } };
/** A schema that defines matchExpressions in addition to the fields of ACK's charts. */
const WIDE: JsonObject = { type: "object", properties: { spec: SELECTOR_SPEC_SCHEMA, status: { type: "object" } } };
const definition = (openAPIV3Schema: unknown): JsonObject =>
  kindObject("IAMRoleSelector", "services.k8s.aws", [
    {
      name: "v1alpha1",
      storage: true,
      served: true,
      ...(openAPIV3Schema === undefined ? {} : { schema: { openAPIV3Schema } }),
    },
  ]);

/** Returns the finding lines of IRS-16 for a selector that was applied as `applied` and stored as `stored`. */
function prunedLines(applied: JsonObject, stored: JsonObject, openAPIV3Schema?: unknown): string[] {
  const annotations = { [LAST_APPLIED]: JSON.stringify(selectorObject("team-a", applied)) };
  const known = openAPIV3Schema === undefined ? [] : [definition(openAPIV3Schema)];
  return findingsOf("IRS-16", selectorObject("team-a", stored, { annotations }), {
    known,
    settings: { runtime: "extended" },
  }).map(findingLine);
}
const lineOf = (path: string): string =>
  `IRS-16 ${path}: the API server pruned this field of the applied manifest: the CRD does not define it. `
    + "Use the fields that the CRD defines (kubectl explain iamroleselector.spec), "
    + "or install the CRD that the command `ack-role-resolver manifests crds` prints.";

test("IRS-16: denies a selector if the API server pruned a field of the applied manifest", (t) => {
  const applied = {
    arn: ROLE,
    namespaceSelector: { names: [], labelSelector: { matchLabels: {}, matchExpressions: EXPRESSIONS } },
    roleARN: ROLE,
  };
  const stored = { arn: ROLE, namespaceSelector: { names: [], labelSelector: { matchLabels: {} } } };
  t.same(prunedLines(applied, stored, NARROW), [
    lineOf("spec.namespaceSelector.labelSelector.matchExpressions"),
    lineOf("spec.roleARN"),
  ]);
  t.same(
    prunedLines(applied, stored),
    prunedLines(applied, stored, NARROW),
    "the schema of ACK's charts is the default",
  );
  t.same(
    prunedLines(applied, stored, WIDE),
    [lineOf("spec.roleARN")],
    "the schema of this project defines expressions",
  );
  t.same(prunedLines(applied, { ...applied }, NARROW), [], "the API server stored the field");
  t.same(
    prunedLines(
      { ...applied, roleARN: null, namespaceSelector: { labelSelector: { matchExpressions: [] } } },
      stored,
      NARROW,
    ),
    [],
    "null and empty fields",
  );
  t.same(prunedLines(applied, { arn: ROLE }, { ...NARROW, "x-kubernetes-preserve-unknown-fields": true }), [
    lineOf("spec.roleARN"),
  ]);
  t.end();
});

test("IRS-16: ignores fields that a later edit removed, and fields that the CRD schema preserves", (t) => {
  const applied = {
    arn: ROLE,
    namespaceSelector: { names: ["a"], labelSelector: { matchLabels: { team: "a" }, matchExpressions: EXPRESSIONS } },
  };
  t.same(prunedLines(applied, { arn: ROLE }, NARROW), [], "a later edit removed the parent field");
  t.same(
    prunedLines(
      { arn: ROLE, other: { a: 1 } },
      { arn: ROLE },
      { properties: { spec: { "x-kubernetes-preserve-unknown-fields": true } } },
    ),
    [],
  );
  t.same(
    prunedLines(
      { arn: ROLE, other: { a: 1 } },
      { arn: ROLE },
      { properties: { spec: { additionalProperties: true } } },
    ),
    [],
  );
  t.same(
    prunedLines(
      { arn: ROLE, other: { a: 1 } },
      { arn: ROLE, other: {} },
      { properties: { spec: { additionalProperties: { properties: {} } } } },
    ),
    [lineOf("spec[other].a")],
  );
  t.end();
});

test("IRS-16: denies a pruned apiVersion unless the webhook rewrote the type entry", (t) => {
  const group = "s3.services.k8s.aws";
  const applied = { arn: ROLE, resourceTypeSelector: [{ apiVersion: `${group}/v1alpha1`, kind: "Bucket" }] };
  const stored = (rewritten: JsonObject): JsonObject => ({ arn: ROLE, resourceTypeSelector: [rewritten] });
  const apiVersionLine = [lineOf("spec.resourceTypeSelector[0].apiVersion")];
  t.same(prunedLines(applied, stored({ group, version: "v1alpha1", kind: "Bucket" }), NARROW), []);
  t.same(prunedLines(applied, stored({ group: "", version: "", kind: "Bucket" }), NARROW), apiVersionLine);
  t.same(prunedLines(applied, stored({ group, version: "v1", kind: "Bucket" }), NARROW), apiVersionLine);
  t.same(prunedLines(applied, stored({ group, version: "v1alpha1", kind: "Object" }), NARROW), apiVersionLine);
  t.same(
    prunedLines(
      { arn: ROLE, resourceTypeSelector: [{ apiVersion: "v1", kind: "Bucket" }] },
      stored({ kind: "Bucket" }),
      NARROW,
    ),
    apiVersionLine,
  );
  t.same(prunedLines(applied, { arn: ROLE, resourceTypeSelector: [] }, NARROW), []);
  t.same(prunedLines(applied, { arn: ROLE }, NARROW), []);
  t.end();
});

test("IRS-16: ignores a last-applied annotation that is not a JSON object, and a CRD without a schema", (t) => {
  for (const text of ["{", "[]", "null", '"x"', "{}"]) {
    t.same(
      findingsOf("IRS-16", selectorObject("team-a", { arn: ROLE }, { annotations: { [LAST_APPLIED]: text } })),
      [],
    );
  }
  t.same(changeLines("IRS-16", { arn: ROLE }), []);
  const annotations = { [LAST_APPLIED]: JSON.stringify(selectorObject("team-a", { arn: ROLE, roleARN: ROLE })) };
  t.same(
    findingsOf("IRS-16", selectorObject("team-a", { arn: ROLE }, { annotations }), {
      known: [definition(undefined)],
    }).map(findingLine),
    [lineOf("spec.roleARN")],
  );
  t.end();
});

test("IRS-16: can be waived, and only warns about a field that was already pruned in the stored object", (t) => {
  const annotations = { [LAST_APPLIED]: JSON.stringify(selectorObject("team-a", { arn: ROLE, roleARN: ROLE })) };
  const selector = selectorObject("team-a", { arn: ROLE }, { annotations });
  t.match(findingsOf("IRS-16", selector), [{ severity: "deny", waivable: true, waived: false }]);
  t.match(findingsOf("IRS-16", selector, { old: structuredClone(selector) }), [{ severity: "warn" }]);
  const waived = selectorObject(
    "team-a",
    { arn: ROLE },
    { annotations: { ...annotations, "ack-role-resolver.io/allow": "IRS-16" } },
  );
  t.match(findingsOf("IRS-16", waived), [{ severity: "warn", waived: true }]);
  t.end();
});
