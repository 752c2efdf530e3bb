import { test } from "tap";
import { kindObject, ROLE, selectorObject, withWaiver } from "../objects.ts";
import { changeLines, type Circumstances, linesOf, needsOf, specLines } from "../core/findings.ts";
import { testRows } from "../rows.ts";

const VERSIONS = [{ name: "v1alpha1", storage: true, served: true }, { name: "v1beta1", storage: false, served: true }];
const KINDS = [
  kindObject("Bucket", "s3.services.k8s.aws", VERSIONS), kindObject("Table", "dynamodb.services.k8s.aws", VERSIONS),
  kindObject("Widget", "example.com", VERSIONS),
];
const line = (part: string, message: string): string => (
  `warn IRS-13 spec.resourceTypeSelector[0].${part}: ${message}. Copy group, version and kind from kubectl get crd, or `
    + "install the controller that provides the kind."
);
const notStored = (version: string): string => `warn IRS-13 spec.resourceTypeSelector[0].version: "${version}" is not `
  + 'the storage version, so no controller matches it: expected v1alpha1. Write "v1alpha1".';
const noKindOf = (group: string): string => `no kind of group "${group}.services.k8s.aws" is installed`;
const OBJECT = { group: "s3.services.k8s.aws", kind: "Object" };
const QUEUE = line("kind", 'kind "Queue" is not installed');
const group = "s3.services.k8s.aws";
const SNS = { group: "sns.services.k8s.aws" };
const FILE = { origin: "file" } as const;

testRows("IRS-13: warns about a known group, version or kind that is not installed",
  ([entry, circumstances]: [object, Circumstances?]) =>
    changeLines("IRS-13", { arn: ROLE, resourceTypeSelector: [entry] }, { known: KINDS, ...circumstances }), [
    ["another group", [{ group: "elasticache.services.k8s.aws" }], line("group", noKindOf("elasticache"))],
    ["a group that is similar to an installed one", [{ group: "sqs.services.k8s.aws" }],
      line("group", noKindOf("sqs"))],
    ["a group of ACK whose kinds are unknown", [{ group: "glue.services.k8s.aws" }], line("group", noKindOf("glue"))],
    ["another kind", [{ kind: "Queue" }], QUEUE],
    ["another version", [{ group, kind: "Bucket", version: "v1beta1" }], notStored("v1beta1")],
    ["an apiVersion", [{ apiVersion: `${group}/v1beta1`, kind: "Bucket" }, FILE], /^warn IRS-13 /],
    ["IRS-52 reports unknown groups", [{ group: "s33.services.k8s.aws", kind: "Bucket" }]],
    ["IRS-52 reports unknown kinds", [OBJECT]],
    ["IRS-52 reports unknown versions", [{ version: "v1" }]],
    ["a group", [{ group }]],
    ["a kind", [{ kind: "Table" }]],
    ["a version", [{ version: "v1alpha1" }]],
    ["all three", [{ group, kind: "Bucket", version: "v1alpha1" }]],
    ["an apiVersion that matches", [{ apiVersion: `${group}/v1alpha1`, kind: "Bucket" }, FILE]],
    ["other checks deny an empty entry", [{}]],
    ["other checks deny the group", [{ group: "example.org" }]],
    ["other checks deny a malformed apiVersion", [{ apiVersion: "nothing", kind: "Bucket" }]],
    ["other checks deny the group of an apiVersion", [{ apiVersion: "x/v1", kind: "Bucket" }]],
    ["manifests may lack the CRDs of other controllers", [SNS, FILE]],
    ["manifests may lack the CRD of a kind", [{ kind: "Topic" }, FILE]],
    ["complete manifests", [SNS, { ...FILE, settings: { isInputComplete: true } }], /^warn IRS-13 /],
    ["a cluster without kinds", [{ group }, { known: [] }], line("group", noKindOf("s3"))],
  ]);

test("IRS-13: requires kinds, and ignores a selector without types", (t) => {
  t.equal(needsOf("IRS-13", { arn: ROLE, resourceTypeSelector: [{ group }] }, FILE), "kinds");
  t.same(changeLines("IRS-13", { arn: ROLE }, { known: KINDS }), []);
  t.end();
});

const notACK = (name: string): string => `deny IRS-13b spec.resourceTypeSelector[1].group: "${name}" is not an ACK `
  + `group: `
  + "it does not end in .services.k8s.aws. Use the group of an ACK controller, such as s3.services.k8s.aws.";

testRows("IRS-13b: denies a group that is not an ACK group", (entry: object) =>
  specLines("IRS-13b", { arn: ROLE, resourceTypeSelector: [{ kind: "Bucket" }, entry] }), [
  ...["x1.aws.upbound.io", "services.k8s.aws", "s3services.k8s.aws"].map((name) =>
    [name, { group: name, kind: "Bucket" }, notACK(name)] as const),
  ["a misspelled suffix", { group: "dynamo.service.k8s.aws" }, /\. Write "dynamodb\.services\.k8s\.aws"\.$/],
  ["an apiVersion", { apiVersion: "example.com/v1" }, /"example\.com" is not an ACK group/],
  ["an ACK group", { group, kind: "Bucket" }],
]);

test("IRS-13b: can be waived", (t) => {
  const other = selectorObject("team-a", { arn: ROLE, resourceTypeSelector: [{ group: "example.com" }] });
  t.match(linesOf("IRS-13b", withWaiver(other, "IRS-13b")), [/^warn \(waived\) IRS-13b/]);
  t.end();
});
