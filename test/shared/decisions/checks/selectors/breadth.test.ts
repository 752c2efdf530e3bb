import { test } from "tap";
import { ROLE } from "../../objects.ts";
import { specLines } from "../findings.ts";

const EVERYTHING = [
  "IRS-15 spec: the selector selects every resource in every namespace. Restrict the selector with "
    + "namespaceSelector, resourceTypeSelector or resourceLabelSelector.",
];
const empty = (fieldName: string): string =>
  `IRS-15b spec.${fieldName}: the field is empty, so it matches everything. Set or remove the field.`;
const linesOf = (rest: object): string[] =>
  ["IRS-15", "IRS-15b"].flatMap((id) => specLines(id, { arn: ROLE, ...rest }));

test("IRS-15: denies a selector whose restrictions are all absent or empty", (t) => {
  for (const rest of [
    {},
    { namespaceSelector: null, resourceTypeSelector: null, resourceLabelSelector: null },
    { namespaceSelector: {}, resourceTypeSelector: [], resourceLabelSelector: {} },
    { namespaceSelector: { names: [], labelSelector: { matchLabels: {}, matchExpressions: [] } } },
    { resourceLabelSelector: { matchLabels: {} } },
  ]) t.same(linesOf(rest), EVERYTHING, JSON.stringify(rest));
  t.end();
});

test("IRS-15: allows a selector that has one restriction", (t) => {
  for (const rest of [
    { namespaceSelector: { names: ["a"] } },
    { namespaceSelector: { labelSelector: { matchLabels: { a: "" } } } },
    { resourceTypeSelector: [{ kind: "Bucket" }] },
    { resourceLabelSelector: { matchLabels: { a: "b" } } },
    { resourceLabelSelector: { matchExpressions: [{ key: "a", operator: "Exists" }] } },
  ]) t.same(linesOf(rest), [], JSON.stringify(rest));
  t.end();
});

test("IRS-15b: warns about an empty field if another field restricts the selector", (t) => {
  const types = { resourceTypeSelector: [{ kind: "Bucket" }] };
  t.same(linesOf({ ...types, namespaceSelector: { names: [] } }), [empty("namespaceSelector")]);
  t.same(linesOf({ ...types, namespaceSelector: {}, resourceLabelSelector: {} }), [
    empty("namespaceSelector"),
    empty("resourceLabelSelector"),
  ]);
  t.same(linesOf({ namespaceSelector: { names: ["a"] }, resourceTypeSelector: [] }), [empty("resourceTypeSelector")]);
  t.same(linesOf({ ...types, namespaceSelector: null, resourceLabelSelector: null }), []);
  t.same(linesOf({ namespaceSelector: { names: ["a"], labelSelector: {} } }), []);
  t.end();
});
