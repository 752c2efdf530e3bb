import { test } from "tap";
import { findingLine } from "../../../../../shared/decisions/checks/finding.ts";
import type { JsonObject } from "../../../../../shared/decisions/kubernetes/json.ts";
import { kindObject, ROLE, selectorObject } from "../../objects.ts";
import { changeLines, findingsOf, needsOf } from "../selector-changes.ts";

const FIX_07 = "Create a selector of another name for the new role, with the annotation ack-role-resolver.io/replaces: NAME, and delete this one when nothing needs it.";

test("IRS-07: a role that is changed or removed is denied", (t) => {
  const old = selectorObject("team-a", { arn: ROLE });
  const to = (spec: unknown): string[] => changeLines("IRS-07", spec, { old });
  t.same(to({ arn: `${ROLE}-2` }), [`IRS-07 spec.arn: the role is changed from "${ROLE}" to "${ROLE}-2". ${FIX_07}`]);
  for (const spec of [undefined, null, {}, { arn: null }]) t.same(to(spec), [`IRS-07 spec.arn: the role "${ROLE}" is removed. ${FIX_07}`]);
  t.match(findingsOf("IRS-07", selectorObject("team-a", {}), { old }), [{ severity: "deny", waivable: false }]);
  t.end();
});

test("IRS-07: a role that stays, or that nothing is stored of, goes through", (t) => {
  t.same(changeLines("IRS-07", { arn: ROLE, namespaceSelector: { names: ["a"] } }, { old: selectorObject("team-a", { arn: ROLE }) }), []);
  for (const spec of [undefined, {}, { namespaceSelector: { names: ["a"] } }]) t.same(changeLines("IRS-07", { arn: ROLE }, { old: selectorObject("team-a", spec) }), []);
  t.equal(needsOf("IRS-07", { arn: ROLE }), "the stored object");
  t.end();
});

const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";
const EXPRESSIONS = [{ key: "team", operator: "Exists" }];
const entry = { type: "object", properties: { group: { type: "string" }, version: { type: "string" }, kind: { type: "string" } } };
const labels = { type: "object", properties: { matchLabels: { type: "object", additionalProperties: { type: "string" } } } };
/** As ACK's charts have it: no matchExpressions, no apiVersion in an entry. */
const NARROW: JsonObject = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        arn: { type: "string" },
        namespaceSelector: { type: "object", properties: { names: { type: "array", items: { type: "string" } }, labelSelector: labels } },
        resourceTypeSelector: { type: "array", items: entry },
      },
    },
    status: { type: "object" },
  },
};
const definition = (openAPIV3Schema: unknown): JsonObject =>
  kindObject("IAMRoleSelector", "services.k8s.aws", [{ name: "v1alpha1", storage: true, served: true, ...(openAPIV3Schema === undefined ? {} : { schema: { openAPIV3Schema } }) }]);

/** What is said of a selector that was applied as `applied` and is stored as `stored`. */
function lost(applied: JsonObject, stored: JsonObject, openAPIV3Schema?: unknown): string[] {
  const annotations = { [LAST_APPLIED]: JSON.stringify(selectorObject("team-a", applied)) };
  const known = openAPIV3Schema === undefined ? [] : [definition(openAPIV3Schema)];
  return findingsOf("IRS-16", selectorObject("team-a", stored, { annotations }), { known, settings: { runtime: "extended" } }).map(findingLine);
}
const dropped = (path: string): string =>
  `IRS-16 ${path}: the field was applied, but the cluster does not know it and dropped it. Say it with the fields that there are `
    + "(kubectl explain iamroleselector.spec), or install the CRD of ack-role-resolver manifests crds.";

test("IRS-16: a field that the served schema does not know and that is gone is denied", (t) => {
  const applied = { arn: ROLE, namespaceSelector: { names: [], labelSelector: { matchLabels: {}, matchExpressions: EXPRESSIONS } }, roleARN: ROLE };
  const stored = { arn: ROLE, namespaceSelector: { names: [], labelSelector: { matchLabels: {} } } };
  t.same(lost(applied, stored, NARROW), [dropped("spec.namespaceSelector.labelSelector.matchExpressions"), dropped("spec.roleARN")]);
  t.same(lost(applied, stored), [dropped("spec.roleARN")], "our own schema, where none is known, knows expressions");
  t.same(lost(applied, { ...applied }, NARROW), [], "what is still there");
  t.same(lost({ ...applied, roleARN: null, namespaceSelector: { labelSelector: { matchExpressions: [] } } }, stored, NARROW), [], "what says nothing is no loss");
  t.same(lost(applied, { arn: ROLE }, { ...NARROW, "x-kubernetes-preserve-unknown-fields": true }), [dropped("spec.roleARN")]);
  t.end();
});

test("IRS-16: what another edit changed since, and what a schema keeps whole, is not told", (t) => {
  const applied = { arn: ROLE, namespaceSelector: { names: ["a"], labelSelector: { matchLabels: { team: "a" }, matchExpressions: EXPRESSIONS } } };
  t.same(lost(applied, { arn: ROLE }, NARROW), [], "the whole part is gone, which the schema did not do");
  t.same(lost({ arn: ROLE, other: { a: 1 } }, { arn: ROLE }, { properties: { spec: { "x-kubernetes-preserve-unknown-fields": true } } }), []);
  t.same(lost({ arn: ROLE, other: { a: 1 } }, { arn: ROLE }, { properties: { spec: { additionalProperties: true } } }), []);
  t.same(lost({ arn: ROLE, other: { a: 1 } }, { arn: ROLE, other: {} }, { properties: { spec: { additionalProperties: { properties: {} } } } }), [dropped("spec[other].a")]);
  t.end();
});

test("IRS-16: an entry's apiVersion counts unless the entry was rewritten", (t) => {
  const group = "s3.services.k8s.aws";
  const applied = { arn: ROLE, resourceTypeSelector: [{ apiVersion: `${group}/v1alpha1`, kind: "Bucket" }] };
  const stored = (rewritten: JsonObject): JsonObject => ({ arn: ROLE, resourceTypeSelector: [rewritten] });
  const lostVersion = [dropped("spec.resourceTypeSelector[0].apiVersion")];
  t.same(lost(applied, stored({ group, version: "v1alpha1", kind: "Bucket" }), NARROW), []);
  t.same(lost(applied, stored({ group: "", version: "", kind: "Bucket" }), NARROW), lostVersion);
  t.same(lost(applied, stored({ group, version: "v1", kind: "Bucket" }), NARROW), lostVersion);
  t.same(lost(applied, stored({ group, version: "v1alpha1", kind: "Object" }), NARROW), lostVersion);
  t.same(lost({ arn: ROLE, resourceTypeSelector: [{ apiVersion: "v1", kind: "Bucket" }] }, stored({ kind: "Bucket" }), NARROW), lostVersion);
  t.same(lost(applied, { arn: ROLE, resourceTypeSelector: [] }, NARROW), []);
  t.same(lost(applied, { arn: ROLE }, NARROW), []);
  t.end();
});

test("IRS-16: an annotation that is no object says nothing, and a definition without a schema counts as none", (t) => {
  for (const text of ["{", "[]", "null", '"x"', "{}"]) {
    t.same(findingsOf("IRS-16", selectorObject("team-a", { arn: ROLE }, { annotations: { [LAST_APPLIED]: text } })), []);
  }
  t.same(changeLines("IRS-16", { arn: ROLE }), []);
  const annotations = { [LAST_APPLIED]: JSON.stringify(selectorObject("team-a", { arn: ROLE, roleARN: ROLE })) };
  t.same(findingsOf("IRS-16", selectorObject("team-a", { arn: ROLE }, { annotations }), { known: [definition(undefined)] }).map(findingLine), [dropped("spec.roleARN")]);
  t.end();
});

test("IRS-16: the ratchet excuses what was lost before, and it can be waived", (t) => {
  const annotations = { [LAST_APPLIED]: JSON.stringify(selectorObject("team-a", { arn: ROLE, roleARN: ROLE })) };
  const selector = selectorObject("team-a", { arn: ROLE }, { annotations });
  t.match(findingsOf("IRS-16", selector), [{ severity: "deny", waivable: true, waived: false }]);
  t.match(findingsOf("IRS-16", selector, { old: structuredClone(selector) }), [{ severity: "warn" }]);
  const waived = selectorObject("team-a", { arn: ROLE }, { annotations: { ...annotations, "ack-role-resolver.io/allow": "IRS-16" } });
  t.match(findingsOf("IRS-16", waived), [{ severity: "warn", waived: true }]);
  t.end();
});
