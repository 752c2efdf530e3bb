import { test } from "tap";
import { runChecks } from "../../../shared/checks/run.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { ROLE, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { selfLines, specLines } from "./findings.ts";
import { testRows } from "../rows.ts";

const line = (path: string, message: string): string => `deny IRS-00 ${path}: ${message}. `
  + "Write the field as the schema defines it (kubectl explain iamroleselector.spec).";
const irs00 = (spec: unknown): string[] => specLines("IRS-00", spec);

testRows("IRS-00: denies a value of the wrong type, and reports its path, the expected type and the value", irs00, [
  ["a list", [], line("spec", "expected an object, not a list")],
  ["a string", "x", line("spec", 'expected an object, not the string "x"')],
  ["a long string", "x".repeat(5_000),
    line("spec", `expected an object, not the string "${"x".repeat(200)}"… (5000 characters)`)],
  ["a number", { arn: 5 }, line("spec.arn", "expected a string, not the number 5")],
  ["a boolean", { arn: true }, line("spec.arn", "expected a string, not the boolean true")],
  ["no list", { namespaceSelector: { names: "team-a" } },
    line("spec.namespaceSelector.names", 'expected a list, not the string "team-a"')],
  ["null in a list", { namespaceSelector: { names: ["a", null] } },
    line("spec.namespaceSelector.names[1]", "expected a string, not null")],
  ["an object", { resourceTypeSelector: {} }, line("spec.resourceTypeSelector", "expected a list, not an object")],
  ["null instead of an object", { resourceTypeSelector: [null] },
    line("spec.resourceTypeSelector[0]", "expected an object, not null")],
  ["a key with slashes", { resourceLabelSelector: { matchLabels: { "a/b~c": 1 } } },
    line("spec.resourceLabelSelector.matchLabels[a/b~c]", "expected a string, not the number 1")],
  ["a nested list",
    { namespaceSelector: { labelSelector: { matchExpressions: [{ key: "a", values: [[]] }] } } },
    line("spec.namespaceSelector.labelSelector.matchExpressions[0].values[0]", "expected a string, not a list")],
  ["null fields", { arn: null, namespaceSelector: { names: null, labelSelector: null }, resourceTypeSelector: null }],
  ["null labels", { resourceLabelSelector: { matchLabels: null } }],
]);

const FIELDS = "arn, namespaceSelector, resourceTypeSelector, resourceLabelSelector";
const unknown = (path: string, name: string): string =>
  line(path, `unknown field "${name}"; expected one of ${FIELDS}`);

testRows("IRS-00: denies an unknown field and suggests a similar field", irs00, [
  ["arm", { arm: ROLE }, line("spec.arm", 'unknown field "arm"; perhaps arn was meant')],
  ["name", { namespaceSelector: { name: ["a"] } },
    line("spec.namespaceSelector.name", 'unknown field "name"; perhaps names was meant')],
  ["a control character", { arn: ROLE, "\u001b[31m": 1 }, unknown("spec.\\u001b[31m", "\\u001b[31m")],
  ["properties of Object", JSON.parse(`{"arn": "${ROLE}", "__proto__": {"arn": 1}, "constructor": 1}`),
    unknown("spec.__proto__", "__proto__"), unknown("spec.constructor", "constructor")],
]);

const form = "a DNS name must consist of lower-case letters, digits, '-' and '.', and each part must start and end "
  + "with a "
  + "letter or digit";
const MISSING = "deny IRS-00 metadata.name: the name is missing. Set metadata.name.";
const invalid = (name: string, why: string): string =>
  `deny IRS-00 metadata.name: ${name} is not a valid object name: ${why}. Rename the selector.`;
const { metadata: _dropped, ...nameless } = selectorObject("a", {});
const withMetadata = (metadata: JsonObject): JsonObject => selectorObject("a", {}, metadata);
const SYNTAX = "Use the Kubernetes syntax: [prefix/]name: value.";

testRows("IRS-00: denies fields, names, labels and annotations that the API server rejects", (object: JsonObject) =>
  selfLines("IRS-00", object), [
  ["an unknown field", { ...selectorObject("a", {}), spek: {} },
    line("spek", 'unknown field "spek"; perhaps spec was meant')],
  ["a field of the status", { ...selectorObject("a", {}), status: { anything: [1] } },
    line("status.anything", 'unknown field "anything"; no field is expected here')],
  ["an empty status", { ...selectorObject("a", {}), status: {} }],
  ["labels and annotations of the wrong type", withMetadata({ labels: { team: 1 }, annotations: { note: true } }),
    line("metadata.annotations[note]", "expected a string, not the boolean true"),
    line("metadata.labels[team]", "expected a string, not the number 1")],
  ["an unknown field of the metadata", withMetadata({ label: {} }),
    line("metadata.label", 'unknown field "label"; perhaps labels was meant')],
  ["other fields of the metadata", withMetadata({
    uid: "u", managedFields: [{}], generation: 3, labels: null, annotations: { labels: "x" },
  })],
  ["no metadata", nameless, MISSING],
  ["a null name", { ...nameless, metadata: { name: null } }, MISSING],
  ["a generated name", { ...nameless, metadata: { generateName: "a-" } }],
  ["upper case", selectorObject("SkyDevTeamConfig", {}), invalid('"SkyDevTeamConfig"', form)],
  ["a long name", selectorObject("a".repeat(254), {}),
    invalid(`"${"a".repeat(200)}"… (254 characters)`, "a DNS name must have at most 253 characters")],
  ["the longest name", selectorObject("a".repeat(253), {})],
  ["dots and hyphens", selectorObject("a.b-c.0", {})],
  ["a malformed label", withMetadata({ labels: { team: "a b" } }),
    "deny IRS-00 metadata.labels[team]: the label is not valid: a label value must be empty or consist of letters, "
      + `digits, '-', '_' and '.', and start and end with a letter or digit. ${SYNTAX}`],
  ["a malformed annotation", withMetadata({ annotations: { "a/b/c": "x" } }),
    "deny IRS-00 metadata.annotations[a/b/c]: the annotation key is not valid: a label key must have at most one '/', "
      + `between prefix and name. ${SYNTAX}`],
  ["well-formed labels and annotations", withMetadata({
    labels: { team: null, "example.com/x": "y" }, annotations: { "Example.com/Any": "any text, even this" },
  })],
  ["finalizers and owners of the wrong type", withMetadata({ finalizers: "x", ownerReferences: [1] }),
    line("metadata.finalizers", 'expected a list, not the string "x"'),
    line("metadata.ownerReferences[0]", "expected an object, not the number 1")],
  ["finalizers and no owners", withMetadata({ finalizers: ["x"], ownerReferences: null })],
]);

test("reports one fault for a value of the wrong type, and every fault of the other fields", (t) => {
  const codes = (spec: unknown): string[] => {
    const input = { object: selectorObject("a", spec), old: null, requester: null, origin: "file" } as const;
    return runChecks(input, SETTINGS_BY_DEFAULT).findings.map(({ code }) => code);
  };
  t.same(codes("x"), ["IRS-00"]);
  t.same(codes({ arn: 5, namespaceSelector: { names: ["A"] } }), ["IRS-00", "IRS-09"]);
  t.same(codes({ arn: "", namespaceSelector: { names: [1, "a", "a"] } }), ["IRS-00", "IRS-01", "IRS-08"]);
  t.end();
});
