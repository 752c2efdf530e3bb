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
const found = (entry: unknown, circumstances: Circumstances = {}): string[] => changeLines("IRS-13", { arn: ROLE, resourceTypeSelector: [entry] }, { known: KINDS, ...circumstances });
const line = (part: string, message: string): string[] => [
  `IRS-13 ${PATH}[0].${part}: ${message}. Write group, version and kind as kubectl get crd has them, or install the controller that brings the kind.`,
];

test("IRS-13: the part that fits no installed kind is caught, with what was perhaps meant", (t) => {
  const group = "s3.services.k8s.aws";
  t.same(found({ group: "s33.services.k8s.aws", kind: "Bucket" }), line("group", `no kind of the group "s33.services.k8s.aws" is installed; perhaps ${group} was meant`));
  t.same(found({ group: "elasticache.services.k8s.aws" }), line("group", 'no kind of the group "elasticache.services.k8s.aws" is installed'));
  t.same(found({ group, kind: "Buckets" }), line("kind", 'no kind "Buckets" is installed; perhaps Bucket was meant'));
  t.same(found({ kind: "Widget" }), line("kind", 'no kind "Widget" is installed'), "kinds of other groups are none of ACK's");
  t.same(found({ group, kind: "Bucket", version: "v1beta1" }), line("version", '"v1beta1" is not the version that controllers compare with, which is the stored one: v1alpha1'));
  t.same(found({ version: "v1" }), line("version", '"v1" is not the version that controllers compare with, which is the stored one: v1alpha1'));
  t.same(found({ apiVersion: `${group}/v1`, kind: "Bucket" }, { origin: "file" }).length, 1, "in the other form too");
  t.end();
});

test("IRS-13: what fits an installed kind, and what other checks speak of, is not caught", (t) => {
  const group = "s3.services.k8s.aws";
  for (const entry of [{ group }, { kind: "Table" }, { version: "v1alpha1" }, { group, kind: "Bucket", version: "v1alpha1" }]) t.same(found(entry), []);
  t.same(found({ apiVersion: `${group}/v1alpha1`, kind: "Bucket" }, { origin: "file" }), []);
  for (const entry of [{}, { group: "example.org" }, { apiVersion: "nothing", kind: "Bucket" }, { apiVersion: "x/v1", kind: "Bucket" }]) t.same(found(entry), []);
  t.equal(needsOf("IRS-13", { arn: ROLE, resourceTypeSelector: [{ group }] }, { origin: "file" }), "kinds");
  t.equal(found({ group }, { known: [] }).length, 1, "a cluster without the kinds is known to be without them");
  t.same(changeLines("IRS-13", { arn: ROLE }, { known: KINDS }), []);
  t.end();
});

test("IRS-13b: a group that is none of ACK's is caught, and can be waived", (t) => {
  const FIX = "Write the group of an ACK controller, such as s3.services.k8s.aws.";
  const of = (group: string): string[] => specLines("IRS-13b", { arn: ROLE, resourceTypeSelector: [{ kind: "Bucket" }, { group, kind: "Bucket" }] });
  for (const group of ["s3.aws.upbound.io", "services.k8s.aws", "s3services.k8s.aws"]) {
    t.same(of(group), [`IRS-13b ${PATH}[1].group: "${group}" is no ACK group: it does not end in .services.k8s.aws. ${FIX}`]);
  }
  t.same(of("s3.services.k8s.aws"), []);
  t.same(specLines("IRS-13b", { arn: ROLE, resourceTypeSelector: [{ apiVersion: "example.com/v1" }] }).length, 1);
  const waived = selectorObject("team-a", { arn: ROLE, resourceTypeSelector: [{ group: "example.com" }] }, { annotations: { "ack-role-resolver.io/allow": "IRS-13b" } });
  t.match(findingsOf("IRS-13b", waived), [{ severity: "warn", waived: true }]);
  t.end();
});

test("IRS-14: an entry that a wider one covers is caught, wherever the wider one stands", (t) => {
  const of = (...resourceTypeSelector: unknown[]): string[] => specLines("IRS-14", { arn: ROLE, resourceTypeSelector });
  const bucket = { group: "s3.services.k8s.aws", version: "v1", kind: "Bucket" };
  const covered = (at: number, by: string): string =>
    `IRS-14 ${PATH}[${at}]: the entry {group: "s3.services.k8s.aws", version: "v1", kind: "Bucket"} is covered by ${by}. Remove the entry, or narrow the wider one.`;
  t.same(of(bucket, { kind: "Bucket" }), [covered(0, '{group: "", version: "", kind: "Bucket"}')]);
  t.same(of({ group: bucket.group, version: "v1" }, bucket), [covered(1, '{group: "s3.services.k8s.aws", version: "v1", kind: ""}')]);
  t.same(of({ version: "v1" }, { apiVersion: "s3.services.k8s.aws/v1", kind: "Bucket" }), [covered(1, '{group: "", version: "v1", kind: ""}')]);
  t.same(of(bucket, { ...bucket, version: "" }, { ...bucket, version: "v2" }).length, 2, "each that is covered");
  t.same(of(bucket, { ...bucket, kind: "Table" }, { ...bucket, version: "v2" }, { kind: "Table", version: "v2" }), []);
  t.same(of(bucket, bucket), [], "an equal one is IRS-12's");
  t.same(of({}, bucket), [], "an empty one too");
  t.end();
});

test("IRS-14 looks at many entries without comparing each with each", (t) => {
  const many = Array.from({ length: 20_000 }, (_, i) => ({ group: `g${i}.services.k8s.aws`, kind: "K" }));
  t.same(specLines("IRS-14", { arn: ROLE, resourceTypeSelector: many }), []);
  t.end();
});
