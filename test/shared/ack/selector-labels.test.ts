import { ROLE } from "../objects.ts";
import { specLines } from "../core/findings.ts";
import { testRows } from "../rows.ts";

const FORM = "letters, digits, '-', '_' and '.', and start and end with a letter or digit";
const ofResource = (matchLabels: object): object => ({ arn: ROLE, resourceLabelSelector: { matchLabels } });
const ofNamespace = (labelSelector: object): object => ({ arn: ROLE, namespaceSelector: { labelSelector } });
const line = (path: string, message: string, fix = "Use the Kubernetes label syntax: [prefix/]name: value"): string =>
  `deny IRS-11 spec.${path}: ${message}. ${fix}.`;
const NAMESPACE = "namespaceSelector.labelSelector";
const RESOURCE = "resourceLabelSelector.matchLabels";

testRows("IRS-11: denies malformed label keys and values", (spec: object) => specLines("IRS-11", spec), [
  ["empty keys", { ...ofResource({ "": "x" }), ...ofNamespace({ matchLabels: { "": "y" } }) },
    line(`${NAMESPACE}.matchLabels[]`, "the label key is empty"), line(`${RESOURCE}[]`, "the label key is empty")],
  ["a malformed key and value", ofResource({ "a/b/c": "very gold" }),
    line(`${RESOURCE}[a/b/c]`,
      `"a/b/c" is not a valid label key: a label key must have at most one '/', between prefix and name`),
    line(`${RESOURCE}[a/b/c]`,
      `"very gold" is not a valid label value: a label value must be empty or consist of ${FORM}`)],
  ["blanks around a value", ofResource({ tier: " gold" }), /" gold" is not .*\. Write "gold"\.$/],
  ["blanks in a value", ofResource({ tier: "very gold" }), /"very gold" is not .*\. Write "very-gold"\.$/],
  ["blanks around a key", ofResource({ " tier ": "gold" }), /" tier " is not .*\. Write \[tier\]\.$/],
  ["blanks around a repeated key", ofResource({ " tier ": "gold", tier: "a" }), /" tier " is not .*\. Use the/],
  ["__proto__", ofResource(JSON.parse('{"__proto__": "x"}')),
    line(`${RESOURCE}[__proto__]`,
      `"__proto__" is not a valid label key: the name part of a label key must consist of ${FORM}`)],
  ["well-formed labels", ofResource({ tier: "", "example.com/tier": "a", constructor: "b" })],
  ["the longest label", ofResource({ [`${"a".repeat(253)}/${"b".repeat(63)}`]: "c".repeat(63) })],
]);

const AT = `${NAMESPACE}.matchExpressions`;
const operator = (name: string, fix?: string): string => line(
  `${AT}[0].operator`, `"${name}" is not a valid operator: expected one of In, NotIn, Exists, DoesNotExist`, fix,
);
const values = (message: string, fix?: string): string => line(`${AT}[0].values`, message, fix);

testRows("IRS-11: denies malformed expressions with --runtime extended", (matchExpressions: readonly object[]) =>
  specLines("IRS-11", ofNamespace({ matchExpressions }), { runtime: "extended" }), [
  ["an operator in lower case", [{ key: "a", operator: "in", values: ["x"] }], operator("in", 'Write "In"')],
  ["a property of Object", [{ key: "a", operator: "constructor" }], operator("constructor")],
  ["In without values", [{ key: "a", operator: "In" }], values("operator In requires at least one value")],
  ["NotIn without values", [{ key: "a", operator: "NotIn", values: [] }],
    values("operator NotIn requires at least one value")],
  ["Exists with a value", [{ key: "a", operator: "Exists", values: ["x"] }], values("operator Exists allows no "
    + "values", "Remove the field")],
  ["DoesNotExist with a value", [{ key: "a", operator: "DoesNotExist", values: ["x"] }],
    values("operator DoesNotExist allows no values", "Remove the field")],
  ["two faults", [{ operator: "Exists" }, { key: "a", operator: "In", values: ["ok", "-"] }],
    line(`${AT}[0].key`, '"" is not a valid label key: the name part of a label key must not be empty'),
    line(`${AT}[1].values[1]`, `"-" is not a valid label value: a label value must be empty or consist of ${FORM}`)],
  ["blanks", [{ key: " a", operator: "In", values: ["very gold"] }],
    line(`${AT}[0].key`, `" a" is not a valid label key: the name part of a label key must consist of ${FORM}`,
      'Write "a"'),
    line(`${AT}[0].values[0]`,
      `"very gold" is not a valid label value: a label value must be empty or consist of ${FORM}`,
      'Write "very-gold"')],
  ["well-formed expressions", [
    { key: "a", operator: "In", values: ["", "x"] }, { key: "b/c", operator: "Exists", values: [] },
    { key: "a", operator: "DoesNotExist" },
  ]],
]);

const dropped = (path: string): string => `deny IRS-35 spec.${path}.matchExpressions: shipped ACK controllers drop `
  + "matchExpressions and would select more than intended. Write each label with its value in matchLabels, in one "
  + "selector for each value, or set --runtime extended if no shipped controller reads this selector.";
const EXPRESSIONS = {
  ...ofNamespace({ matchExpressions: [{ key: "", operator: "?" }, {}] }),
  resourceLabelSelector: { matchExpressions: [{ key: "a", operator: "Exists" }] },
};

testRows("IRS-35: denies expressions with --runtime ack, once for each label selector, and IRS-11 is silent",
  ([spec, runtime = "ack"]: [object, ("ack" | "extended")?]) => specLines(["IRS-11", "IRS-35"], spec, { runtime }), [
    ["--runtime ack", [EXPRESSIONS], dropped(NAMESPACE), dropped("resourceLabelSelector")],
    ["one value each", [{ arn: ROLE, resourceLabelSelector: {
      matchExpressions: [{ key: "a", operator: "In", values: ["b"] }, { key: "c", operator: "In", values: ["d"] }],
    } }], 'deny IRS-35 spec.resourceLabelSelector.matchExpressions: shipped ACK controllers drop matchExpressions and '
      + 'would select more than intended. Remove the field, set spec.resourceLabelSelector.matchLabels[a] to "b" and '
      + 'set spec.resourceLabelSelector.matchLabels[c] to "d".'],
    ["another value of a label", [ofNamespace({
      matchLabels: { a: "b" }, matchExpressions: [{ key: "a", operator: "In", values: ["c"] }],
    })], dropped(NAMESPACE)],
    ["--runtime extended", [ofNamespace({ matchExpressions: [{ key: "a", operator: "Exists" }] }), "extended"]],
    ["no expressions", [ofNamespace({ matchLabels: { a: "b" }, matchExpressions: [] })]],
    ["null", [ofNamespace({ matchLabels: { a: "b" }, matchExpressions: null })]],
    ["undefined", [ofNamespace({ matchLabels: { a: "b" }, matchExpressions: undefined })]],
  ]);
