const HEAD = "apiVersion: services.k8s.aws/v1alpha1\nkind: IAMRoleSelector\nmetadata: {name: team-a}\nspec:\n"
  + "  arn: arn:aws:iam::111122223333:role/team-a\n";
const TYPES = "  namespaceSelector: {names: [team-a]}\n  resourceTypeSelector:\n";
const TYPE = `${TYPES}    - group: s3.services.k8s.aws\n      version: v1alpha1\n`;
const BUCKET = "apiVersion: s3.services.k8s.aws/v1alpha1\nkind: bucket\nmetadata: {name: x}\nspec: {}\n";
const ITEM = "- apiVersion: services.k8s.aws/v1alpha1\n  kind: IAMRoleSelector\n  metadata: {name: a}\n  spec:\n"
  + "    arn: arn:aws:iam::111122223333:role/a\n    namespaceSelector:\n      names:\n      - a\n      - a # again\n";

/** The JSON text of a selector with a name twice, in the style of an editor that indents by so many spaces. */
function json(indent: number): string {
  return `${JSON.stringify({
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name: "a" },
    spec: { arn: "arn:aws:iam::111122223333:role/a", namespaceSelector: { names: ["a", "a"] } },
  }, null, indent)}\n`;
}

/** Files in which one part is wrong in one way: the text, the wrong part and its repair. */
export const FIXED: Readonly<Record<string, readonly [text: string, wrong: string, right: string]>> = {
  "comments.yaml": [
    `# head\n---\n${HEAD}  namespaceSelector: # whose\n    names:\n      # one team\n      - team-a # first\n`
      + "      - team-a # again\n      # the end\n# tail\n", "      - team-a # again\n", "",
  ],
  "flow.yaml": [`${HEAD}  namespaceSelector: {names: [team-a, team-a, b]} # c\n`, ", team-a, b", ", b"],
  "flow-lines.yaml": [
    `${HEAD}  namespaceSelector: {\n    names: [\n      team-a,\n      b,\n      team-a\n    ],\n  }\n`,
    ",\n      team-a\n    ]", "\n    ]",
  ],
  "kind.yaml": [`${HEAD}${TYPE}      kind: Buckets # typo\n`, "Buckets #", "Bucket #"],
  "single.yaml": [`${HEAD}${TYPE}      kind: 'Buckets'\n`, "'Buckets'", "'Bucket'"],
  "double.yaml": [`${HEAD}${TYPE}      kind: "Buckets"\n`, '"Buckets"', '"Bucket"'],
  "four.yaml": [
    `${HEAD}${TYPES}`.replaceAll("  ", "    ") + "        -   group: s3.services.k8s.aws\n"
      + "            version: v1alpha1\n            kind: Buckets\n", "Buckets", "Bucket",
  ],
  "group.yaml": [
    `${HEAD}${TYPES}    - {group: s3.service.k8s.aws, version: v1alpha1, kind: Bucket}\n`,
    "s3.service.", "s3.services.",
  ],
  "crlf.yaml": [
    `${HEAD}${TYPE}      kind: Buckets # typo\n`.replaceAll("\n", "\r\n"), "Buckets", "Bucket",
  ],
  "no-last-newline.yaml": [`${HEAD}${TYPE}      kind: Buckets`, "Buckets", "Bucket"],
  "mark.yaml": [`\u{FEFF}${HEAD}${TYPE}      kind: Buckets\n`, "Buckets", "Bucket"],
  "resource.yaml": [`# bucket\n${BUCKET}`, "kind: bucket", "kind: Bucket"],
  "documents.yaml": [
    `---\n# 1\napiVersion: v1\nkind: Namespace\nmetadata:   {name: x}\n---\n# 2\n${BUCKET}---\n# 3\n---\n`
      + "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\n", "kind: bucket", "kind: Bucket",
  ],
  "dots.yaml": [`${BUCKET}...\n---\n# nothing\n`, "kind: bucket", "kind: Bucket"],
  "list.yaml": [`apiVersion: v1\nkind: List\nitems:\n# item\n${ITEM}`, "      - a # again\n", ""],
  "two-items.yaml": [
    `kind: List\napiVersion: v1\nitems:\n${ITEM.replaceAll(": a\n", ": b\n").replace("name: a", "name: b")
      .replace("      - a # again\n", "")}${ITEM}`, "      - a # again\n", "",
  ],
  "typed-list.yaml": [
    "apiVersion: services.k8s.aws/v1alpha1\nkind: IAMRoleSelectorList\nitems:\n- metadata: {name: t}\n  spec:\n"
      + "    arn: arn:aws:iam::111122223333:role/a\n    namespaceSelector: {names: [a, a]}\n", "[a, a]", "[a]",
  ],
  "nested-list.yaml": [
    `apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items:\n${ITEM.replaceAll(/^/gm, "  ")
      .trimEnd()}\n`, "        - a # again\n", "",
  ],
  "json.json": [json(2), ',\n        "a"\n', "\n"],
  "tabs.json": [json(2).replaceAll("  ", "\t"), ',\n\t\t\t\t"a"\n', "\n"],
  "line.json": [json(0).replaceAll("\n", ""), '"a","a"', '"a"'],
  "same-line.yaml": [
    `${HEAD}  namespaceSelector:\n    names: [&x b, team-a, team-a]\n`, ", team-a, team-a", ", team-a",
  ],
  "number.yaml": [
    BUCKET.replace("bucket", "Bucket").replace("{name: x}", "{name: x, labels: {cost: 5, b: c}}"), "cost: 5",
    'cost: "5"',
  ],
  "boolean.yaml": [
    BUCKET.replace("bucket", "Bucket").replace("{name: x}", "{name: x, labels: {cost: true}}"), "true", '"true"',
  ],
  "other-case.yaml": [
    `${HEAD}${TYPES}    - {group: s3.services.k8s.aws, version: v1alpha1, Kind: Bucket}\n`, "Kind: Bucket",
    "kind: Bucket",
  ],
  "multi-line.yaml": [`${HEAD}${TYPE}      kind:\n        Buckets\n`, "Buckets", "Bucket"],
  "block-scalar.yaml": [`${HEAD}${TYPE}      kind: >-\n        Buckets\n`, ">-\n        Buckets", "Bucket"],
};

/** Files that stay as they are, although each has a finding with a safe repair. */
export const LEFT: Readonly<Record<string, string>> = {
  "anchor.yaml": `${HEAD}  namespaceSelector: &names {names: [team-a, team-a]}\n`,
  "alias.yaml": `metadata: {name: team-a, labels: &l {a: team-a}}\napiVersion: services.k8s.aws/v1alpha1\n`
    + "kind: IAMRoleSelector\nspec:\n  arn: arn:aws:iam::111122223333:role/team-a\n"
    + "  namespaceSelector:\n    names: [team-a]\n    labelSelector: {matchLabels: *l}\n"
    + "  resourceTypeSelector:\n    - &t {group: s3.services.k8s.aws, version: v1alpha1, kind: Bucket}\n    - *t\n",
  "helm.yaml": `${HEAD}  namespaceSelector:\n    names: [team-a, team-a, "{{ .Values.team }}"]\n`,
  "flux.yaml": `${HEAD.replace("111122223333", "${account}")}  namespaceSelector: {names: [team-a, team-a]}\n`,
  "source.yaml": `---\n# Source: shop/templates/selector.yaml\n${HEAD}  namespaceSelector: {names: [team-a, team-a]}\n`,
  "generated.yaml": `# Code generated, DO NOT EDIT.\n${HEAD}  namespaceSelector: {names: [team-a, team-a]}\n`,
  "marker.yaml": `# @generated\n${HEAD}  namespaceSelector: {names: [team-a, team-a]}\n`,
  "automatic.yaml": `# This file was automatically created\n${HEAD}  namespaceSelector: {names: [team-a, team-a]}\n`,
  "ytt.yaml": `#@ load("@ytt:data", "data")\n${HEAD}  namespaceSelector: {names: [team-a, team-a]}\n`,
  "sops.yaml": `${HEAD}  namespaceSelector: {names: [team-a, team-a]}\nsops: {mac: x}\n`,
  ...Object.fromEntries(["010", "0x1F", "1_0", "+5", "1.0", "1e3", "yes", "True"].map((written) => [
    `${written}.yaml`, BUCKET.replace("bucket", "Bucket").replace("{name: x}", `{name: x, labels: {a: ${written}}}`),
  ])),
  "tag.yaml": `${HEAD}${TYPE}      kind: !!str Buckets\n`,
};
