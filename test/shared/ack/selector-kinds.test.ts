import { INVENTORY_KINDS } from "../../../shared/kinds.ts";
import { test } from "tap";
import { ACK_GROUPS } from "../../../shared/core/ack-groups.ts";
import { judgeSelector } from "../../../shared/ack/judge-selector.ts";
import { unknownTo } from "../../../shared/ack/selector-kinds.ts";
import { Inventory } from "../../../shared/core/inventory.ts";
import { BUNDLED_KINDS, typesIn } from "../../../shared/ack/bundled-types.ts";
import { kindObject, ROLE, selectorObject, SETTINGS_BY_DEFAULT, withWaiver } from "../objects.ts";
import { checkChange, type Circumstances, linesOf } from "../core/findings.ts";
import { testRows } from "../rows.ts";

const group = "s3.services.k8s.aws";
const NEW = [{ name: "v1beta1", storage: true, served: true }, { name: "v1alpha2", storage: false, served: true }];
const KNOWN = [
  kindObject("Bucket", group, NEW), kindObject("Gadget", "gadgets.services.k8s.aws", NEW),
  kindObject("Widget", "example.com", NEW),
];
const PATH = "spec.resourceTypeSelector[0]";
const WARNING = "Correct the name, or add the CustomResourceDefinition of a new kind to the input, or its group to "
  + "--extra-groups.";
const deny = (part: string, what: string, meant: string): string =>
  `deny IRS-52 ${PATH}.${part}: ${part} ${what} is not known; perhaps ${meant} was meant. Write "${meant}".`;
const warn = (part: string, what: string): string =>
  `warn IRS-52 ${PATH}.${part}: ${part} ${what} is not known. ${WARNING}`;
const injection = { ...SETTINGS_BY_DEFAULT.injection, extraGroups: ["gizmos.services.k8s.aws"] };

function lines([entry, circumstances]: readonly [object, Circumstances?]): string[] {
  const selector = selectorObject("team-a", { arn: ROLE, resourceTypeSelector: [entry] });
  return linesOf("IRS-52", selector, { origin: "file", settings: { injection }, ...circumstances });
}

testRows("IRS-52: denies a name that is similar to a known one, and warns about others", lines, [
  ["an abbreviated group", [{ group: "dynamo.services.k8s.aws" }],
    deny("group", '"dynamo.services.k8s.aws"', "dynamodb.services.k8s.aws")],
  ["a group in another case", [{ group: "S3.services.k8s.aws" }], deny("group", '"S3.services.k8s.aws"', group)],
  ["a new group", [{ group: "quantum.services.k8s.aws" }], warn("group", '"quantum.services.k8s.aws"')],
  ["another digit", [{ group: "wafv3.services.k8s.aws" }], warn("group", '"wafv3.services.k8s.aws"')],
  ["a kind in another case", [{ group, kind: "bucket" }], deny("kind", `"bucket" of ${group}`, "Bucket")],
  ["less than half of a kind", [{ group: "ecr.services.k8s.aws", kind: "Repo" }], `warn IRS-52 ${PATH}.kind: `
    + `kind "Repo" of ecr.services.k8s.aws is not known; perhaps Repository was meant. ${WARNING}`],
  ["the start of two kinds", [{ group: "rds.services.k8s.aws", kind: "DBP" }],
    warn("kind", '"DBP" of rds.services.k8s.aws')],
  ["two letters of a kind", [{ group: "ecr.services.k8s.aws", kind: "Re" }],
    warn("kind", '"Re" of ecr.services.k8s.aws')],
  ["a plural", [{ kind: "Buckets" }], deny("kind", '"Buckets"', "Bucket")],
  ["a kind of another group", [{ group, kind: "Queue" }], warn("kind", `"Queue" of ${group}`)],
  ["a kind that several names are similar to", [{ kind: "Rle" }],
    `deny IRS-52 ${PATH}.kind: kind "Rle" is not known; perhaps Role or Rule was meant. `
      + 'If "Role" is meant, write "Role"; or if "Rule" is meant, write "Rule".'],
  ["a kind of a group of ACK whose kinds are unknown", [{ group: "glue.services.k8s.aws", kind: "Job" }],
    warn("kind", '"Job" of glue.services.k8s.aws')],
  ["a version of other kinds", [{ group, kind: "Bucket", version: "v1" }],
    deny("version", `"v1" of Bucket.${group}`, "v1alpha1")],
  ["a swapped letter in a version", [{ version: "v1aplha1" }], deny("version", '"v1aplha1"', "v1alpha1")],
  ["a new version", [{ group, version: "v1beta1" }], warn("version", `"v1beta1" of ${group}`)],
  ["an apiVersion", [{ apiVersion: `${group}/v1`, kind: "Bucket" }], /^deny IRS-52 /],
  ["a long name", [{ kind: "K".repeat(10_000) }], /^warn IRS-52 .{200,400}$/],
  ["a kind of the extra groups", [{ group: "gizmos.services.k8s.aws", kind: "Gizmo", version: "v9" }]],
  ["a group of ACK whose kinds are unknown", [{ group: "glue.services.k8s.aws" }]],
  ["IRS-12 denies an empty entry", [{}]],
  ["IRS-13b denies the group", [{ group: "example.com", kind: "Widgets" }]],
]);

testRows("IRS-52: the CustomResourceDefinitions of the input and of the cluster are known", (entry: object) => [
  ...lines([entry, { known: KNOWN }]), ...lines([entry, { known: KNOWN, origin: "cluster" }]),
], [
  ["a kind", { group: "gadgets.services.k8s.aws", kind: "Gadget", version: "v1beta1" }],
  ["only the kind", { kind: "Gadget" }],
  ["a served version", { group, kind: "Bucket", version: "v1alpha2" }],
  ["a version of the bundled list", { group, kind: "Bucket", version: "v1alpha1" }],
  ["a bundled kind that is not installed", { group: "sqs.services.k8s.aws", kind: "Queue" }],
  ["a misspelled kind", { kind: "Gadgets" }, /perhaps Gadget was meant/, /^deny .*perhaps Gadget was meant/],
  ["a misspelled group", { group: "gadget.services.k8s.aws" }, /perhaps gadgets\.s/, /perhaps gadgets\.s/],
  ["a kind that is not of ACK", { kind: "Widget" }, /^warn /, /^warn /],
]);

testRows("IRS-52: finds a misspelled ACK resource in a manifest", ([apiVersion, kind]: readonly [string, string]) =>
  linesOf("IRS-52", { apiVersion, kind, metadata: { name: "a", namespace: "a" } }, { origin: "file", known: KNOWN }), [
  ["a kind", [`${group}/v1alpha1`, "Buckets"],
    `deny IRS-52 kind: kind "Buckets" of ${group} is not known; perhaps Bucket was meant. Write "Bucket".`],
  ["a service", ["dynamo.services.k8s.aws/v1alpha1", "Table"],
    /^deny IRS-52 apiVersion: group "dynamo.services.k8s.aws" is not known; perhaps dynamodb/],
  ["a suffix", ["s3.service.k8s.aws/v1alpha1", "Bucket"], /^deny IRS-52 apiVersion: .* Write "s3\.services/],
  ["the suffix of an unknown group", ["x1.services.k8s.was/v1", "X"],
    /^deny IRS-52 apiVersion: .* Write "x1\.services/],
  ["a version", [`${group}/v1`, "Bucket"], /^deny IRS-52 apiVersion: version "v1" of Bucket.* perhaps v1alpha1, v1/],
  ["no version", ["sqs.services.k8s.aws", "Queue"], "deny IRS-52 apiVersion: the apiVersion has no version: "
    + '"sqs.services.k8s.aws" is only the group. Write "sqs.services.k8s.aws/v1alpha1".'],
  ["no version of a new kind", [group, "Object"], /^deny .* Write ".*\/v1alpha1"\.$/, /^warn .* kind "Object"/],
  ["no service", ["services.k8s.aws/v1alpha1", "Bucket"], /^warn IRS-52 kind: kind "Bucket" of services\.k8s\.aws is/],
  ["a kind of ACK itself", ["services.k8s.aws/v1alpha1", "FieldExports"],
    /^deny IRS-52 kind: .* Write "FieldExport"\.$/],
  ["a FieldExport without a version", ["services.k8s.aws", "FieldExport"],
    /^deny IRS-52 apiVersion: .* Write "services\.k8s\.aws\/v1alpha1"\.$/],
  ["a FieldExport of another version", ["services.k8s.aws/v1", "FieldExport"],
    /^deny IRS-52 .* Write "services\.k8s\.aws\/v1alpha1"\.$/],
  ["a FieldExport", ["services.k8s.aws/v1alpha1", "FieldExport"]],
  ["a new kind", [`${group}/v1alpha1`, "Object"], /^warn IRS-52 kind: /],
  ["the start of a kind", ["acm.services.k8s.aws/v1alpha1", "Cert"],
    `warn IRS-52 kind: kind "Cert" of acm.services.k8s.aws is not known; perhaps Certificate was meant. ${WARNING}`],
  ["a bundled kind", ["sqs.services.k8s.aws/v1alpha1", "Queue"]],
  ["a kind of the input", ["gadgets.services.k8s.aws/v1beta1", "Gadget"]],
  ["another group of AWS", ["elbv2.k8s.aws/v1beta1", "TargetGroupBinding"]],
]);

test("IRS-52 reports no resource of a cluster, which the API server knows", (t) => {
  const resource = { apiVersion: `${group}/v1alpha1`, kind: "Buckets", metadata: { name: "a", namespace: "a" } };
  t.same(linesOf("IRS-52", resource, { known: KNOWN, origin: "cluster" }), []);
  t.end();
});

test("IRS-52 can be waived, and takes no grant from a selector", (t) => {
  const spec = { arn: ROLE, namespaceSelector: { names: ["a"] }, resourceTypeSelector: [{ group, kind: "Buckets" }] };
  const selector = selectorObject("team-a", spec);
  const judged = judgeSelector(selector, { origin: "file", runtime: "extended" });
  t.equal(judged.effective?.grantable, true);
  t.match(linesOf("IRS-52", withWaiver(selector, "IRS-52"), { origin: "file" }), [/^warn \(waived\) IRS-52/]);
  const stored = structuredClone(selector);
  t.match(linesOf("IRS-52", selector, { old: stored }), [/^warn IRS-52/], "a stored fault only warns");
  t.end();
});

const EMPTY = {
  inventory: new Inventory({ runtime: "ack", origin: "file" }, INVENTORY_KINDS), settings: SETTINGS_BY_DEFAULT,
};
const TYPES = [...typesIn(BUNDLED_KINDS)];

/** Returns each text that a slip of a user makes of the name. */
function editsOf(name: string): Set<string> {
  const edits = Array.from(name, (letter, i) => [
    name.slice(0, i) + name.slice(i + 1), name.slice(0, i) + letter + name.slice(i),
    name.slice(0, i) + (name[i + 1] ?? "") + letter + name.slice(i + 2),
    name.slice(0, i) + (/[A-Z]/.test(letter) ? letter.toLowerCase() : letter.toUpperCase()) + name.slice(i + 1),
  ]).flat();
  const plurals = [`${name}s`, `${name}es`, name.replace(/y$/, "ies")];
  return new Set([...edits, ...plurals, name.toLowerCase(), name.toUpperCase()]);
}

test("no bundled kind has a finding, and each single edit of one is a misspelling of it", (t) => {
  const entries = TYPES.flatMap((type) => [type, { ...type, group: "" }, { ...type, version: "" }]);
  for (const entry of entries) if (unknownTo(EMPTY, entry) !== null) t.fail(`${entry.kind} of ${entry.group}`);
  let edits = 0;
  const bundled = new Set(TYPES.map((type) => `${type.kind}.${type.group}`));
  for (const type of TYPES) {
    const wrong = [...editsOf(type.kind)].filter((kind) => !bundled.has(`${kind}.${type.group}`));
    for (const kind of wrong) {
      edits++;
      const unknown = unknownTo(EMPTY, { ...type, kind });
      if (unknown?.part !== "kind" || !unknown.nearest.includes(type.kind)) t.fail(`${kind} of ${type.group}`);
    }
  }
  t.ok(edits > 5_000, `${edits} edits`);
  t.end();
});

test("the bundled kinds are of the groups of the webhook configurations, and small", (t) => {
  for (const type of TYPES) t.ok(ACK_GROUPS.includes(type.group), type.group);
  t.match(BUNDLED_KINDS.date, /^20\d\d-\d\d$/);
  t.ok(JSON.stringify(BUNDLED_KINDS, null, 1).length < 60_000);
  t.end();
});

test("a selector with 1,000 long unknown names is judged with few comparisons", (t) => {
  const resourceTypeSelector = Array.from({ length: 1_000 }, (_, i) => ({ kind: `${"K".repeat(10_000)}${i}` }));
  const { findings } = checkChange(selectorObject("team-a", { arn: ROLE, resourceTypeSelector }), { origin: "file" });
  t.equal(findings.filter(({ code }) => code === "IRS-52").length, 21);
  t.end();
});
