import { test } from "tap";
import { bucketObject, kindObject, namespaceObject } from "../../objects.ts";
import { annotationLines, existingBucket, linesOf, ONE } from "../subjects.ts";

test("NS-09 denies an unknown deletion policy in the annotation of a service", (t) => {
  const lines = (value: string, key = "s3.services.k8s.aws/deletion-policy"): string[] => (
    annotationLines("NS-09", { [key]: value })
  );
  t.same(lines("Delete"), [
    'deny NS-09 metadata.annotations[s3.services.k8s.aws/deletion-policy]: "Delete" is not a deletion policy, '
    + "so controllers treat it as retain. Set the deletion policy to delete or retain.",
  ]);
  for (const value of ["delete", "retain", ""]) t.same(lines(value), [], value);
  t.same(lines("Delete", "s3.services.k8s.aws/deletion-policies"), []);
  t.end();
});

test("NS-09 warns about a deletion policy annotation whose service is missing or unknown", (t) => {
  const fix = "Use SERVICE.services.k8s.aws/deletion-policy with the lower-case name of the service, such as s3.";
  const lines = (key: string, known: Parameters<typeof annotationLines>[2] = {}): string[] => (
    annotationLines("NS-09", { [key]: "retain" }, known)
  );
  t.same(lines("services.k8s.aws/deletion-policy"), [
    "warn NS-09 metadata.annotations[services.k8s.aws/deletion-policy]: "
    + `the deletion policy names no service, so controllers ignore it on a namespace. ${fix}`,
  ]);
  t.same(lines("DynamoDB.services.k8s.aws/deletion-policy"), [
    'warn NS-09 metadata.annotations[DynamoDB.services.k8s.aws/deletion-policy]: "DynamoDB" is not an ACK service, '
    + "so controllers ignore the annotation. Use dynamodb.services.k8s.aws/deletion-policy if you meant dynamodb.",
  ]);
  t.same(lines("frobnicator.services.k8s.aws/deletion-policy"), [
    'warn NS-09 metadata.annotations[frobnicator.services.k8s.aws/deletion-policy]: '
    + '"frobnicator" is not an ACK service, '
    + `so controllers ignore the annotation. ${fix}`,
  ]);
  t.same(lines("dynamodb.services.k8s.aws/deletion-policy"), []);
  const installed = kindObject("Box", "frobnicator.services.k8s.aws", [{ name: "v1", storage: true, served: true }]);
  t.same(lines("frobnicator.services.k8s.aws/deletion-policy", { known: [installed] }), [], "an installed service");
  t.end();
});

test("NS-10 warns about an annotation that controllers read only on resources", (t) => {
  const message = "controllers ignore this annotation on a namespace";
  t.same(annotationLines("NS-10", { "services.k8s.aws/region": "eu-west-1", "services.k8s.aws/read-only": "true" }), [
    `warn NS-10 metadata.annotations[services.k8s.aws/read-only]: ${message}. Move the annotation from the namespace `
      + `to its resources.`,
    `warn NS-10 metadata.annotations[services.k8s.aws/region]: ${message}. `
    + "Set services.k8s.aws/default-region on the namespace, or annotate its resources.",
  ]);
  t.same(annotationLines("NS-10", {
    "services.k8s.aws/default-region": "eu-west-1", "services.k8s.aws/deletion-policy": "retain",
    "example.com/region": "x",
  }), []);
  t.end();
});

test("NS-13 warns if the deletion of a namespace also deletes ACK resources", (t) => {
  const known = [existingBucket("b1", ONE), bucketObject({ name: "b2" }), bucketObject({ namespace: "team-b" })];
  t.same(linesOf("NS-13", namespaceObject("team-a"), { operation: "DELETE", known }), [
    "warn NS-13 metadata.name: the deletion of the namespace also deletes 2 resources: "
    + "Bucket team-a/b1 and Bucket team-a/b2. "
    + "Until the namespace is deleted, do not change its labels and annotations, or the selectors.",
  ]);
  t.same(linesOf("NS-13", namespaceObject("team-c"), { operation: "DELETE", known }), []);
  t.same(linesOf("NS-13", namespaceObject("team-a"), { known }), [], "the check runs only at DELETE");
  t.end();
});
