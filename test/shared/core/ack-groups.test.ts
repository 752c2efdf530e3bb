import { test } from "tap";
import { ACK_GROUPS, isACKGroup, parseKindArgument } from "../../../shared/core/ack-groups.ts";
import { ACK_CRDS } from "../../fixtures/ack-crds.ts";

test("ACK_GROUPS lists complete group names, sorted and unique", (t) => {
  t.same(ACK_GROUPS, [...new Set(ACK_GROUPS)].toSorted());
  t.same(
    ACK_GROUPS.filter((group) => !/^[a-z0-9]+\.services\.k8s\.aws$/u.test(group)),
    [],
  );
  t.notOk(ACK_GROUPS.includes("services.k8s.aws"), "the kinds of the runtime are not AWS resources");
  t.end();
});

test("ACK_GROUPS lists the group of every CRD in the fixtures", (t) => {
  t.same(
    ACK_CRDS.filter(({ spec }) => !ACK_GROUPS.includes(spec.group)),
    [],
  );
  t.end();
});

test("parses KIND, KIND.GROUP and KIND.VERSION.GROUP", async (t) => {
  const read: readonly (readonly [string, ReturnType<typeof parseKindArgument>])[] = [
    ["Bucket", { kind: "Bucket", version: null, group: null }],
    ["Bucket.s3.services.k8s.aws", { kind: "Bucket", version: null, group: "s3.services.k8s.aws" }],
    ["Bucket.v1alpha1.s3.services.k8s.aws", { kind: "Bucket", version: "v1alpha1", group: "s3.services.k8s.aws" }],
    ["Bucket.v1.s3.services.k8s.aws", { kind: "Bucket", version: "v1", group: "s3.services.k8s.aws" }],
    ["Bucket.v1", { kind: "Bucket", version: null, group: "v1" }],
    ["Bucket.v0.s3.services.k8s.aws", { kind: "Bucket", version: null, group: "v0.s3.services.k8s.aws" }],
  ];
  for (const [text, expected] of read) t.same(parseKindArgument(text), expected, text);
});

test("rejects texts that are not KIND, KIND.GROUP or KIND.VERSION.GROUP", async (t) => {
  for (const text of [
    "",
    "bucket.s3.services.k8s.aws",
    "Bucket.",
    "Bucket..s3",
    "Bucket.S3.services.k8s.aws",
    "Buck et",
    "Bucket.v1.",
    ".s3",
    "Bucket.s3/x",
  ]) {
    t.equal(parseKindArgument(text), null, JSON.stringify(text));
  }
});

test("accepts only the API groups of ACK services", (t) => {
  for (const group of ["s3.services.k8s.aws", "a.b.services.k8s.aws"]) t.ok(isACKGroup(group), group);
  for (const group of ["services.k8s.aws", "", "s3.services.k8s.aws.example.com", "s3services.k8s.aws"])
    t.notOk(isACKGroup(group), group);
  t.end();
});
