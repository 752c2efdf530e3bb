import { runChecks } from "../../../shared/judges.ts";
import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { ROLE, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { selfLines, specLines } from "../core/findings.ts";
import { testRows } from "../rows.ts";

const SCHEMA = "Write the field as the schema defines it (kubectl explain iamroleselector.spec)";
const line = (path: string, message: string, fix = SCHEMA): string => `deny IRS-00 ${path}: ${message}. ${fix}.`;
/** A selector that has no other fault. */
const REST = { arn: ROLE, resourceTypeSelector: [{ kind: "Bucket" }] };
const irs00 = (spec: unknown): string[] =>
  specLines("IRS-00", Array.isArray(spec) || typeof spec === "string" ? spec : { ...REST, ...Object(spec) });

testRows("IRS-00: denies a value of the wrong type, and reports its path, the expected type and the value", irs00, [
  ["a list", [], line("spec", "expected an object, not a list")],
  ["a list of the items of one field", [{ kind: "Bucket" }],
    line("spec", "expected an object, not a list")],
  ["a list of names", { namespaceSelector: ["team-a"] },
    line("spec.namespaceSelector", 'expected an object, not a list', 'Write {"names":["team-a"]}')],
  ["a list that no field accepts", { namespaceSelector: [5] },
    line("spec.namespaceSelector", "expected an object, not a list")],
  ["a string", "x", line("spec", 'expected an object, not the string "x"')],
  ["a long string", "x".repeat(5_000),
    line("spec", `expected an object, not the string "${"x".repeat(200)}"… (5000 characters)`)],
  ["a number", { arn: 5 }, line("spec.arn", "expected a string, not the number 5")],
  ["a boolean", { arn: true }, line("spec.arn", "expected a string, not the boolean true")],
  ["no list", { namespaceSelector: { names: "team-a" } },
    line("spec.namespaceSelector.names", 'expected a list, not the string "team-a"', 'Write ["team-a"]')],
  ["one entry instead of a list", { resourceTypeSelector: { kind: "Bucket" } },
    line("spec.resourceTypeSelector", 'expected a list, not an object', 'Write [{"kind":"Bucket"}]')],
  ["null in a list", { namespaceSelector: { names: ["a", null] } },
    line("spec.namespaceSelector.names[1]", "expected a string, not null")],
  ["an object", { resourceTypeSelector: { other: 1 } },
    line("spec.resourceTypeSelector", "expected a list, not an object")],
  ["null instead of an object", { resourceTypeSelector: [null] },
    line("spec.resourceTypeSelector[0]", "expected an object, not null")],
  ["a key with slashes", { resourceLabelSelector: { matchLabels: { "a/b~c": 1 } } },
    line("spec.resourceLabelSelector.matchLabels[a/b~c]", "expected a string, not the number 1")],
  ["a number as the value of a label", { resourceLabelSelector: { matchLabels: { tier: 1 } } },
    line("spec.resourceLabelSelector.matchLabels[tier]", "expected a string, not the number 1", 'Write "1"')],
  ["a negative number as the value of a label", { resourceLabelSelector: { matchLabels: { tier: -1 } } },
    line("spec.resourceLabelSelector.matchLabels[tier]", "expected a string, not the number -1")],
  ["a nested list",
    { namespaceSelector: { labelSelector: { matchExpressions: [{ key: "a", values: [[]] }] } } },
    line("spec.namespaceSelector.labelSelector.matchExpressions[0].values[0]", "expected a string, not a list")],
  ["null fields", { arn: null, namespaceSelector: { names: null, labelSelector: null }, resourceTypeSelector: null }],
  ["null labels", { resourceLabelSelector: { matchLabels: null } }],
]);

const FIELDS = "arn, namespaceSelector, resourceTypeSelector, resourceLabelSelector";
const ONE_OF = "Write one of these fields, or remove the field";
const unknown = (path: string, name: string): string =>
  line(path, `unknown field "${name}"; expected one of ${FIELDS}`, ONE_OF);
const meant = (path: string, name: string, guess: string, effect = ""): string => (
  line(path, `unknown field "${name}"; perhaps ${guess} was meant${effect}`, `Write ${guess}`)
);
const selects = (everything: string): string => `; controllers do not read it, so the selector selects ${everything}`;
const ALL = selects("every namespace");
const ANY = selects("resources with any labels");
const labels = { matchLabels: { team: "a" } };

/** Returns the lines for a selector that lacks no field and has the fields. */
function unknownLines(fields: JsonObject): string[] {
  const rest = { ...("arm" in fields ? {} : { arn: ROLE }), resourceTypeSelector: [{ kind: "Bucket" }] };
  return specLines("IRS-00", { ...rest, ...fields });
}

testRows("IRS-00: denies an unknown field and suggests a similar field", unknownLines, [
  ["arm", { arm: ROLE }, meant("spec.arm", "arm", "arn")],
  ["arm beside arn", { arn: ROLE, arm: ROLE }, unknown("spec.arm", "arm")],
  ["name", { namespaceSelector: { name: ["a"] } }, meant("spec.namespaceSelector.name", "name", "names", ALL)],
  ["one name instead of a list", { namespaceSelector: { name: "a" } },
    meant("spec.namespaceSelector.name", "name", "names", ALL)],
  ["another type", { namespaceSelector: { name: 5 } },
    line("spec.namespaceSelector.name", `unknown field "name"; expected one of names, labelSelector${ALL}`, ONE_OF)],
  ["a selector of names", { selector: { names: ["a"] } },
    meant("spec.selector", "selector", "namespaceSelector", ALL)],
  ["a selector of labels", { selector: labels }, meant("spec.selector", "selector", "resourceLabelSelector", ANY)],
  ["two selectors of labels", { selector: labels, resourceLabelSelector: labels },
    unknown("spec.selector", "selector")],
  ["an empty selector", { selector: {} }, line("spec.selector", 'unknown field "selector"; perhaps namespaceSelector '
    + "was meant", "If namespaceSelector is meant, write namespaceSelector; or if resourceLabelSelector is meant, "
    + "write resourceLabelSelector")],
  ["namespaces", { namespaces: ["a"] }, meant("spec.namespaces", "namespaces", "namespaceSelector.names", ALL)],
  ["labels of namespaces", { namespaceSelector: labels },
    meant("spec.namespaceSelector.matchLabels", "matchLabels", "labelSelector.matchLabels", ALL)],
  ["labels of resources", labels,
    meant("spec.matchLabels", "matchLabels", "resourceLabelSelector.matchLabels", ANY)],
  ["namespaceSelectors", { namespaceSelectors: { names: ["a"] } },
    meant("spec.namespaceSelectors", "namespaceSelectors", "namespaceSelector", ALL)],
  ["namespaceselector", { namespaceselector: { names: ["a"] } },
    meant("spec.namespaceselector", "namespaceselector", "namespaceSelector", ALL)],
  ["namespaceSelectors beside namespaceSelector",
    { namespaceSelectors: { names: ["a"] }, namespaceSelector: { names: ["a"] } },
    unknown("spec.namespaceSelectors", "namespaceSelectors")],
  ["misspelt labels beside names", { namespaceSelector: { names: ["a"], labelSelectors: labels } },
    meant("spec.namespaceSelector.labelSelectors", "labelSelectors", "labelSelector")],
  ["resourceTypeSelectors", { resourceTypeSelector: undefined, resourceTypeSelectors: [{ kind: "Bucket" }] },
    meant("spec.resourceTypeSelectors", "resourceTypeSelectors", "resourceTypeSelector",
      selects("every kind of resource"))],
  ["an account", { arn: ROLE, targetAccountId: "111122223333" }, line(
    "spec.targetAccountId", 'unknown field "targetAccountId"; the account is that of the ARN', "Remove the field",
  )],
  ["a control character", { arn: ROLE, "\u001b[31m": 1 }, unknown("spec.\\u001b[31m", "\\u001b[31m")],
  ["properties of Object", JSON.parse(`{"arn": "${ROLE}", "__proto__": {"arn": 1}, "constructor": 1}`),
    unknown("spec.__proto__", "__proto__"), unknown("spec.constructor", "constructor")],
]);

const form = "a DNS name must consist of lower-case letters, digits, '-' and '.', and each part must start and end "
  + "with a "
  + "letter or digit";
const MISSING = "deny IRS-00 metadata.name: the name is missing. Set metadata.name.";
const invalid = (name: string, why: string, fix = "Rename the selector"): string =>
  `deny IRS-00 metadata.name: ${name} is not a valid object name: ${why}. ${fix}.`;
const { metadata: _dropped, ...nameless } = selectorObject("a", REST);
const withMetadata = (metadata: JsonObject): JsonObject => selectorObject("a", REST, metadata);
const PREFIX = "ack-role-resolver.io/";
const SYNTAX = "Use the Kubernetes syntax: [prefix/]name: value.";

testRows("IRS-00: denies fields, names, labels and annotations that the API server rejects", (object: JsonObject) =>
  selfLines("IRS-00", object), [
  ["an unknown field of an applied manifest", withMetadata({
    annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{}" }, label: {},
  }), /perhaps labels was meant\. Write the field as the schema defines it/],
  ["an unknown field", { ...selectorObject("a", REST), spek: {} },
    line("spek", 'unknown field "spek"; expected one of apiVersion, kind, metadata, spec, status', ONE_OF)],
  ["a field of the status", { ...selectorObject("a", REST), status: { anything: [1] } },
    line("status.anything", 'unknown field "anything"; no field is expected here', "Remove the field")],
  ["an empty status", { ...selectorObject("a", REST), status: {} }],
  ["labels and annotations of the wrong type", withMetadata({ labels: { team: 1 }, annotations: { note: true } }),
    line("metadata.annotations[note]", 'expected a string, not the boolean true', 'Write "true"'),
    line("metadata.labels[team]", 'expected a string, not the number 1', 'Write "1"')],
  ["a duration without quotes", withMetadata({ annotations: { [`${PREFIX}duration-seconds`]: 1800 } }),
    line(`metadata.annotations[${PREFIX}duration-seconds]`, "expected a string, not the number 1800", 'Write "1800"')],
  ["an account without quotes", withMetadata({ labels: { account: 12345678901 } }),
    line("metadata.labels[account]", "expected a string, not the number 12345678901", 'Write "12345678901"')],
  ["an unknown field of the metadata", withMetadata({ label: {} }),
    meant("metadata.label", "label", "labels")],
  ["other fields of the metadata", withMetadata({
    uid: "u", managedFields: [{}], generation: 3, labels: null, annotations: { labels: "x" },
  })],
  ["no metadata", nameless, MISSING],
  ["a null name", { ...nameless, metadata: { name: null } }, MISSING],
  ["a generated name", { ...nameless, metadata: { generateName: "a-" } }],
  ["upper case", selectorObject("SkyDevTeamConfig", {}),
    invalid('"SkyDevTeamConfig"', form, 'Write "skydevteamconfig"')],
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
    line("metadata.finalizers", 'expected a list, not the string "x"', 'Write ["x"]'),
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
