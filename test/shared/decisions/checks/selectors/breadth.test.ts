import { test } from "tap";
import { ROLE } from "../../objects.ts";
import { specLines } from "../findings.ts";

const EVERYTHING = ["IRS-15 spec: the selector selects every resource in every namespace. Restrict it with namespaceSelector, resourceTypeSelector or resourceLabelSelector."];
const empty = (part: string): string => `IRS-15b spec.${part}: the part is written but empty, so it holds for everything. Fill it, or leave it out.`;
const found = (rest: object): string[] => ["IRS-15", "IRS-15b"].flatMap((id) => specLines(id, { arn: ROLE, ...rest }));

test("IRS-15: a selector without any restriction is caught, however its emptiness is written", (t) => {
  for (const rest of [
    {},
    { namespaceSelector: null, resourceTypeSelector: null, resourceLabelSelector: null },
    { namespaceSelector: {}, resourceTypeSelector: [], resourceLabelSelector: {} },
    { namespaceSelector: { names: [], labelSelector: { matchLabels: {}, matchExpressions: [] } } },
    { resourceLabelSelector: { matchLabels: {} } },
  ]) t.same(found(rest), EVERYTHING, JSON.stringify(rest));
  t.end();
});

test("IRS-15: any one restriction is enough", (t) => {
  for (const rest of [
    { namespaceSelector: { names: ["a"] } },
    { namespaceSelector: { labelSelector: { matchLabels: { a: "" } } } },
    { resourceTypeSelector: [{ kind: "Bucket" }] },
    { resourceLabelSelector: { matchLabels: { a: "b" } } },
    { resourceLabelSelector: { matchExpressions: [{ key: "a", operator: "Exists" }] } },
  ]) t.same(found(rest), [], JSON.stringify(rest));
  t.end();
});

test("IRS-15b: a part that is written out empty beside another that restricts is caught, a part left out is not", (t) => {
  const types = { resourceTypeSelector: [{ kind: "Bucket" }] };
  t.same(found({ ...types, namespaceSelector: { names: [] } }), [empty("namespaceSelector")]);
  t.same(found({ ...types, namespaceSelector: {}, resourceLabelSelector: {} }), [empty("namespaceSelector"), empty("resourceLabelSelector")]);
  t.same(found({ namespaceSelector: { names: ["a"] }, resourceTypeSelector: [] }), [empty("resourceTypeSelector")]);
  t.same(found({ ...types, namespaceSelector: null, resourceLabelSelector: null }), []);
  t.same(found({ namespaceSelector: { names: ["a"], labelSelector: {} } }), []);
  t.end();
});
