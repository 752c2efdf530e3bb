import { test } from "tap";
import { kindObject } from "../../objects.ts";
import { annotationLines } from "../subjects.ts";

test("NS-09: a deletion policy is delete or retain", (t) => {
  const lines = (value: string, key = "s3.services.k8s.aws/deletion-policy"): string[] => annotationLines("NS-09", { [key]: value });
  t.same(lines("Delete"), ['deny NS-09 metadata.annotations[s3.services.k8s.aws/deletion-policy]: "Delete" is no deletion policy, and is taken for retain. Write delete or retain.']);
  for (const value of ["delete", "retain", ""]) t.same(lines(value), [], value);
  t.same(lines("Delete", "services.k8s.aws/deletion-policy"), [], "which nobody reads");
  t.same(lines("Delete", "s3.services.k8s.aws/deletion-policies"), []);
  t.end();
});

test("NS-09b: a deletion policy is of a service that there is", (t) => {
  const fix = "Write SERVICE.services.k8s.aws/deletion-policy with the service's lower-case name, such as s3.";
  const lines = (key: string, known: Parameters<typeof annotationLines>[2] = {}): string[] => annotationLines("NS-09b", { [key]: "retain" }, known);
  t.same(lines("services.k8s.aws/deletion-policy"), [
    `warn NS-09b metadata.annotations[services.k8s.aws/deletion-policy]: the deletion policy names no service, so it is ignored on a namespace. ${fix}`,
  ]);
  t.same(lines("DynamoDB.services.k8s.aws/deletion-policy"), [
    'warn NS-09b metadata.annotations[DynamoDB.services.k8s.aws/deletion-policy]: "DynamoDB" is no service of ACK, so the annotation is ignored. Write dynamodb.services.k8s.aws/deletion-policy, if that is the service.',
  ]);
  t.same(lines("frobnicator.services.k8s.aws/deletion-policy"), [
    `warn NS-09b metadata.annotations[frobnicator.services.k8s.aws/deletion-policy]: "frobnicator" is no service of ACK, so the annotation is ignored. ${fix}`,
  ]);
  t.same(lines("dynamodb.services.k8s.aws/deletion-policy"), []);
  const installed = kindObject("Box", "frobnicator.services.k8s.aws", [{ name: "v1", storage: true, served: true }]);
  t.same(lines("frobnicator.services.k8s.aws/deletion-policy", { known: [installed] }), [], "a service that is installed");
  t.end();
});

test("NS-10: what is read from resources alone is told", (t) => {
  t.same(annotationLines("NS-10", { "services.k8s.aws/region": "eu-west-1", "services.k8s.aws/read-only": "true" }), [
    "warn NS-10 metadata.annotations[services.k8s.aws/read-only]: the annotation is ignored on a namespace. Annotate the resources themselves.",
    "warn NS-10 metadata.annotations[services.k8s.aws/region]: the annotation is ignored on a namespace. Write services.k8s.aws/default-region on the namespace, or annotate the resources themselves.",
  ]);
  t.same(annotationLines("NS-10", { "services.k8s.aws/default-region": "eu-west-1", "services.k8s.aws/deletion-policy": "retain", "example.com/region": "x" }), []);
  t.end();
});
