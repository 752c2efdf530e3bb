import { test } from "tap";
import { runChecks } from "../../../../../shared/checks/run.ts";
import type { JsonObject } from "../../../../../shared/formats/json.ts";
import { ROLE, selectorObject, SETTINGS_BY_DEFAULT } from "../../objects.ts";
import { findingLines, specLines } from "../findings.ts";

const FIX = "Write the field as the schema defines it (kubectl explain iamroleselector.spec).";
const lineOf = (path: string, message: string): string => `IRS-00 ${path}: ${message}. ${FIX}`;

test("IRS-00: denies a value of the wrong type, and reports its path, the expected type and the value", (t) => {
  const rows: readonly (readonly [spec: unknown, path: string, message: string])[] = [
    [[], "spec", "expected an object, not a list"],
    ["x", "spec", 'expected an object, not the string "x"'],
    ["x".repeat(5_000), "spec", `expected an object, not the string "${"x".repeat(200)}"… (5000 characters)`],
    [{ arn: 5 }, "spec.arn", "expected a string, not the number 5"],
    [{ arn: true }, "spec.arn", "expected a string, not the boolean true"],
    [
      { namespaceSelector: { names: "team-a" } },
      "spec.namespaceSelector.names",
      'expected a list, not the string "team-a"',
    ],
    [{ namespaceSelector: { names: ["a", null] } }, "spec.namespaceSelector.names[1]", "expected a string, not null"],
    [{ resourceTypeSelector: {} }, "spec.resourceTypeSelector", "expected a list, not an object"],
    [{ resourceTypeSelector: [null] }, "spec.resourceTypeSelector[0]", "expected an object, not null"],
    [
      { resourceLabelSelector: { matchLabels: { "a/b~c": 1 } } },
      "spec.resourceLabelSelector.matchLabels[a/b~c]",
      "expected a string, not the number 1",
    ],
    [
      { namespaceSelector: { labelSelector: { matchExpressions: [{ key: "a", values: [[]] }] } } },
      "spec.namespaceSelector.labelSelector.matchExpressions[0].values[0]",
      "expected a string, not a list",
    ],
  ];
  for (const [spec, path, message] of rows) t.same(specLines("IRS-00", spec), [lineOf(path, message)]);
  t.same(
    specLines("IRS-00", {
      arn: null,
      namespaceSelector: { names: null, labelSelector: null },
      resourceTypeSelector: null,
      resourceLabelSelector: { matchLabels: null },
    }),
    [],
  );
  t.end();
});

test("IRS-00: denies an unknown field and suggests a similar field", (t) => {
  t.same(specLines("IRS-00", { arm: ROLE }), [lineOf("spec.arm", 'unknown field "arm"; perhaps arn was meant')]);
  t.same(specLines("IRS-00", { namespaceSelector: { name: ["a"] } }), [
    lineOf("spec.namespaceSelector.name", 'unknown field "name"; perhaps names was meant'),
  ]);
  t.same(specLines("IRS-00", { arn: ROLE, "\u001b[31m": 1 }), [
    lineOf(
      "spec.\\u001b[31m",
      'unknown field "\\u001b[31m"; '
        + "expected one of arn, namespaceSelector, resourceTypeSelector, resourceLabelSelector",
    ),
  ]);
  t.same(specLines("IRS-00", JSON.parse(`{"arn": "${ROLE}", "__proto__": {"arn": 1}, "constructor": 1}`)), [
    lineOf(
      "spec.__proto__",
      'unknown field "__proto__"; expected one of arn, namespaceSelector, resourceTypeSelector, resourceLabelSelector',
    ),
    lineOf(
      "spec.constructor",
      'unknown field "constructor"; expected one of arn, namespaceSelector, resourceTypeSelector, '
        + 'resourceLabelSelector',
    ),
  ]);
  t.same(findingLines("IRS-00", { ...selectorObject("a", {}), spek: {} }), [
    lineOf("spek", 'unknown field "spek"; perhaps spec was meant'),
  ]);
  t.same(findingLines("IRS-00", { ...selectorObject("a", {}), status: { anything: [1] } }), [
    lineOf("status.anything", 'unknown field "anything"; no field is expected here'),
  ]);
  t.same(findingLines("IRS-00", { ...selectorObject("a", {}), status: {} }), []);
  t.end();
});

test("IRS-00: denies metadata that the API server rejects", (t) => {
  t.same(findingLines("IRS-00", selectorObject("a", {}, { labels: { team: 1 }, annotations: { note: true } })), [
    lineOf("metadata.annotations[note]", "expected a string, not the boolean true"),
    lineOf("metadata.labels[team]", "expected a string, not the number 1"),
  ]);
  t.same(findingLines("IRS-00", selectorObject("a", {}, { label: {} })), [
    lineOf("metadata.label", 'unknown field "label"; perhaps labels was meant'),
  ]);
  t.same(
    findingLines(
      "IRS-00",
      selectorObject(
        "a",
        {},
        { uid: "u", managedFields: [{}], generation: 3, labels: null, annotations: { labels: "x" } },
      ),
    ),
    [],
  );
  t.end();
});

test("IRS-00: denies a missing or invalid name", (t) => {
  const form =
    "a DNS name must consist of lower-case letters, digits, '-' and '.', and each part must start and end with a "
      + "letter or digit";
  const missing = ["IRS-00 metadata.name: the name is missing. Set metadata.name."];
  const { metadata: _dropped, ...nameless } = selectorObject("a", {});
  t.same(findingLines("IRS-00", nameless), missing);
  t.same(findingLines("IRS-00", { ...nameless, metadata: { name: null } }), missing);
  t.same(findingLines("IRS-00", { ...nameless, metadata: { generateName: "a-" } }), []);
  t.same(findingLines("IRS-00", selectorObject("SkyDevTeamConfig", {})), [
    `IRS-00 metadata.name: "SkyDevTeamConfig" is not a valid object name: ${form}. Rename the selector.`,
  ]);
  t.same(findingLines("IRS-00", selectorObject("a".repeat(254), {})), [
    `IRS-00 metadata.name: "${"a".repeat(200)}"… (254 characters) is not a valid object name: a DNS name must have `
      + "at most 253 characters. Rename the selector.",
  ]);
  for (const name of ["a".repeat(253), "a.b-c.0"]) t.same(findingLines("IRS-00", selectorObject(name, {})), []);
  t.end();
});

test("reports one fault for a value of the wrong type, and every fault of the other fields", (t) => {
  const codes = (spec: unknown): string[] =>
    runChecks(
      { object: selectorObject("a", spec), old: null, requester: null, origin: "file" },
      SETTINGS_BY_DEFAULT,
    ).findings.map(({ code }) => code);
  t.same(codes("x"), ["IRS-00"]);
  t.same(codes({ arn: 5, namespaceSelector: { names: ["A"] } }), ["IRS-00", "IRS-09"]);
  t.same(codes({ arn: "", namespaceSelector: { names: [1, "a", "a"] } }), ["IRS-00", "IRS-01", "IRS-08"]);
  t.end();
});

test("IRS-00: denies labels and annotations of the selector that the API server rejects", (t) => {
  const withMetadata = (metadata: JsonObject): JsonObject => ({
    ...selectorObject("a", {}),
    metadata: { name: "a", ...metadata },
  });
  const fix = "Use the Kubernetes syntax: [prefix/]name: value.";
  t.same(findingLines("IRS-00", withMetadata({ labels: { team: "a b" } })), [
    "IRS-00 metadata.labels[team]: the label is not valid: a label value must be empty or consist of letters, "
      + `digits, '-', '_' and '.', and start and end with a letter or digit. ${fix}`,
  ]);
  t.same(findingLines("IRS-00", withMetadata({ annotations: { "a/b/c": "x" } })), [
    "IRS-00 metadata.annotations[a/b/c]: the annotation key is not valid: a label key must have at most one '/', "
      + `between prefix and name. ${fix}`,
  ]);
  t.same(
    findingLines(
      "IRS-00",
      withMetadata({
        labels: { team: null, "example.com/x": "y" },
        annotations: { "Example.com/Any": "any text, even this" },
      }),
    ),
    [],
  );
  t.same(findingLines("IRS-00", withMetadata({ finalizers: "x", ownerReferences: [1] })), [
    lineOf("metadata.finalizers", 'expected a list, not the string "x"'),
    lineOf("metadata.ownerReferences[0]", "expected an object, not the number 1"),
  ]);
  t.same(findingLines("IRS-00", withMetadata({ finalizers: ["x"], ownerReferences: null })), []);
  t.end();
});
