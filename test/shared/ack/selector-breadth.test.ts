import { ROLE } from "../objects.ts";
import { specLines } from "../core/findings.ts";
import { testRows } from "../rows.ts";

const EVERYTHING = "deny IRS-15 spec: the selector selects every resource in every namespace. Restrict the selector "
  + "with namespaceSelector, resourceTypeSelector or resourceLabelSelector.";
const empty = (field: string): string =>
  `warn IRS-15 spec.${field}: the field is empty, so it matches everything. Set or remove the field.`;
const ONE = { namespaceSelector: { names: ["a"] } };
const KIND = { resourceTypeSelector: [{ kind: "Bucket" }] };
const BY_LABEL = { resourceLabelSelector: { matchLabels: { a: "b" } } };
const noLabels = { matchLabels: {}, matchExpressions: [] };

testRows("IRS-15: reports restrictions that are all empty, or one of which is empty", (rest: object) =>
  specLines("IRS-15", { arn: ROLE, ...rest }), [
  ["no restriction", {}, EVERYTHING],
  ["null", { namespaceSelector: null, resourceTypeSelector: null, resourceLabelSelector: null }, EVERYTHING],
  ["empty", { namespaceSelector: {}, resourceTypeSelector: [], resourceLabelSelector: {} }, EVERYTHING],
  ["empty lists", { namespaceSelector: { names: [], labelSelector: noLabels } }, EVERYTHING],
  ["no resource label", { resourceLabelSelector: { matchLabels: {} } }, EVERYTHING],
  ["a name", ONE],
  ["a namespace label", { namespaceSelector: { labelSelector: { matchLabels: { a: "" } } } }],
  ["a kind", KIND],
  ["a resource label", BY_LABEL],
  ["an expression", { resourceLabelSelector: { matchExpressions: [{ key: "a", operator: "Exists" }] } }],
  ["no name, but a kind", { ...KIND, namespaceSelector: { names: [] } }, empty("namespaceSelector")],
  ["two empty fields", { ...KIND, namespaceSelector: {}, resourceLabelSelector: {} },
    empty("namespaceSelector"), empty("resourceLabelSelector")],
  ["no kind, but a name", { ...ONE, resourceTypeSelector: [] }, empty("resourceTypeSelector")],
  ["null next to a kind", { ...KIND, namespaceSelector: null, resourceLabelSelector: null }],
  ["an empty label selector next to a name", { namespaceSelector: { names: ["a"], labelSelector: {} } }],
]);
