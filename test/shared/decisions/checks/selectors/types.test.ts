import { test } from "tap";
import { kindObject, ROLE, selectorObject } from "../../objects.ts";
import { specLines } from "../findings.ts";
import { changeLines, type Circumstances, findingsOf, needsOf } from "../selector-changes.ts";

const VERSIONS = [{ name: "v1alpha1", storage: true, served: true }, { name: "v1beta1", storage: false, served: true }];
const KINDS = [
  kindObject("Bucket", "s3.services.k8s.aws", VERSIONS), kindObject("Table", "dynamodb.services.k8s.aws", VERSIONS),
  kindObject("Widget", "example.com", VERSIONS),
];
const PATH = "spec.resourceTypeSelector";
const linesOf = (entry: unknown, circumstances: Circumstances = {}): string[] =>
  changeLines("IRS-13", { arn: ROLE, resourceTypeSelector: [entry] }, { known: KINDS, ...circumstances });
const line = (part: string, message: string): string[] => [
  `IRS-13 ${PATH}[0].${part}: ${message}. Copy group, version and kind from kubectl get crd, or install the `
    + "controller that provides the kind.",
];

test("IRS-13: warns about a group, version or kind that is not installed, and suggests a similar value", (t) => {
  const group = "s3.services.k8s.aws";
  t.same(
    linesOf({ group: "s33.services.k8s.aws", kind: "Bucket" }),
    line("group", `no kind of group "s33.services.k8s.aws" is installed; perhaps ${group} was meant`),
  );
  t.same(
    linesOf({ group: "elasticache.services.k8s.aws" }),
    line("group", 'no kind of group "elasticache.services.k8s.aws" is installed'),
  );
  t.same(
    linesOf({ group, kind: "Buckets" }),
    line("kind", 'kind "Buckets" is not installed; perhaps Bucket was meant'),
  );
  t.same(
    linesOf({ kind: "Widget" }),
    line("kind", 'kind "Widget" is not installed'),
    "the kind exists only in a group that is not an ACK group",
  );
  t.same(
    linesOf({ group, kind: "Bucket", version: "v1beta1" }),
    line("version", '"v1beta1" is not the storage version, so no controller matches it: expected v1alpha1'),
  );
  t.same(
    linesOf({ version: "v1" }),
    line("version", '"v1" is not the storage version, so no controller matches it: expected v1alpha1'),
  );
  t.same(
    linesOf({ apiVersion: `${group}/v1`, kind: "Bucket" }, { origin: "file" }).length,
    1,
    "the entry uses apiVersion",
  );
  t.end();
});

test("IRS-13: allows an entry that matches an installed kind, and ignores entries that other checks deny", (t) => {
  const group = "s3.services.k8s.aws";
  for (const entry of [
    { group },
    { kind: "Table" },
    { version: "v1alpha1" },
    { group, kind: "Bucket", version: "v1alpha1" },
  ])
    t.same(linesOf(entry), []);
  t.same(linesOf({ apiVersion: `${group}/v1alpha1`, kind: "Bucket" }, { origin: "file" }), []);
  for (const entry of [
    {},
    { group: "example.org" },
    { apiVersion: "nothing", kind: "Bucket" },
    { apiVersion: "x/v1", kind: "Bucket" },
  ])
    t.same(linesOf(entry), []);
  t.equal(needsOf("IRS-13", { arn: ROLE, resourceTypeSelector: [{ group }] }, { origin: "file" }), "kinds");
  // Manifests may lack the CustomResourceDefinitions of other controllers.
  const fromFile = { origin: "file" } as const;
  t.same(linesOf({ group: "sns.services.k8s.aws" }, fromFile), []);
  t.same(linesOf({ kind: "Topic" }, fromFile), []);
  t.equal(linesOf({ group: "s3.services.k8s.aws", kind: "Buckets" }, fromFile).length, 1);
  const complete = { ...fromFile, settings: { isInputComplete: true } };
  t.equal(linesOf({ group: "sns.services.k8s.aws" }, complete).length, 1);
  t.equal(linesOf({ group }, { known: [] }).length, 1, "a cluster without kinds");
  t.same(changeLines("IRS-13", { arn: ROLE }, { known: KINDS }), []);
  t.end();
});

test("IRS-13b: denies a group that is not an ACK group, and can be waived", (t) => {
  const FIX = "Use the group of an ACK controller, such as s3.services.k8s.aws.";
  const of = (group: string): string[] =>
    specLines("IRS-13b", { arn: ROLE, resourceTypeSelector: [{ kind: "Bucket" }, { group, kind: "Bucket" }] });
  for (const group of ["s3.aws.upbound.io", "services.k8s.aws", "s3services.k8s.aws"]) {
    t.same(of(group), [
      `IRS-13b ${PATH}[1].group: "${group}" is not an ACK group: it does not end in .services.k8s.aws. ${FIX}`,
    ]);
  }
  t.same(of("s3.services.k8s.aws"), []);
  t.same(specLines("IRS-13b", { arn: ROLE, resourceTypeSelector: [{ apiVersion: "example.com/v1" }] }).length, 1);
  const waived = selectorObject(
    "team-a",
    { arn: ROLE, resourceTypeSelector: [{ group: "example.com" }] },
    { annotations: { "ack-role-resolver.io/allow": "IRS-13b" } },
  );
  t.match(findingsOf("IRS-13b", waived), [{ severity: "warn", waived: true }]);
  t.end();
});
