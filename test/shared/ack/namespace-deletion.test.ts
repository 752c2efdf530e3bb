import type { JsonObject } from "../../../shared/formats/json.ts";
import { bucketObject, existingBucket, FIRST, kindObject, namespaceObject } from "../objects.ts";
import { type Row, testRows } from "../rows.ts";
import { annotationLines, type Circumstances, linesOf } from "../core/findings.ts";

const SUFFIX = "services.k8s.aws/deletion-policy";
const FIX = "Use SERVICE.services.k8s.aws/deletion-policy with the lower-case name of the service, such as s3.";
const line = (key: string, text: string): string => `NS-09 metadata.annotations[${key}]: ${text}`;
const installed = kindObject("Box", "frobnicator.services.k8s.aws", [{ name: "v1", storage: true, served: true }]);

testRows("NS-09 denies an unknown deletion policy, and warns about one of a missing or unknown service",
  ([key, value, circumstances]: [string, string, Circumstances?]) =>
    annotationLines("NS-09", { [key]: value }, circumstances), [
    ["upper case", [`s3.${SUFFIX}`, "Delete"], `deny ${line(`s3.${SUFFIX}`, '"Delete" is not a deletion policy, '
      + 'so controllers treat it as retain. Write "delete".')}`],
    ["delete", [`s3.${SUFFIX}`, "delete"]],
    ["retain", [`dynamodb.${SUFFIX}`, "retain"]],
    ["empty", [`s3.${SUFFIX}`, ""]],
    ["another annotation", ["s3.services.k8s.aws/deletion-policies", "Delete"]],
    ["no service", [SUFFIX, "retain"],
      `warn ${line(SUFFIX, `the deletion policy names no service, so controllers ignore it on a namespace. ${FIX}`)}`],
    ["a service in upper case", [`DynamoDB.${SUFFIX}`, "retain"],
      `warn ${line(`DynamoDB.${SUFFIX}`, '"DynamoDB" is not an ACK service, so controllers ignore the annotation. '
        + "Use dynamodb.services.k8s.aws/deletion-policy if you meant dynamodb.")}`],
    ["a misspelled service", [`dynamodbb.${SUFFIX}`, "retain"], /^warn NS-09 .* Use dynamodb\.services/],
    ["an unknown service", [`frobnicator.${SUFFIX}`, "retain"],
      `warn ${line(`frobnicator.${SUFFIX}`,
        `"frobnicator" is not an ACK service, so controllers ignore the annotation. ${FIX}`)}`],
    ["an installed service", [`frobnicator.${SUFFIX}`, "retain", { known: [installed] }]],
  ]);

const onResources = (name: string, fix: string): string => (
  `warn NS-10 metadata.annotations[services.k8s.aws/${name}]: controllers ignore this annotation on a namespace. `
    + `${fix}.`
);
testRows("NS-10 warns about an annotation that controllers read only on resources", (names: readonly string[]) =>
  annotationLines("NS-10", Object.fromEntries(names.map((name) => [name, "true"]))), [
  ["of resources", ["services.k8s.aws/region", "services.k8s.aws/read-only"],
    onResources("read-only", "Remove the annotation, or move it from the namespace to its resources"),
    onResources("region", "Set services.k8s.aws/default-region on the namespace, or annotate its resources")],
  ["of namespaces", ["services.k8s.aws/default-region", SUFFIX, "example.com/region"]],
]);

const unknown = (key: string, fix: string): string => (
  `warn NS-10 metadata.annotations[${key}]: controllers do not know this annotation. ${fix}`
);
const meaning = (key: string): string => `Set services.k8s.aws/${key} if you meant that, or remove the annotation.`;
type Unknown = [key: string, runtime: "ack" | "extended", mode?: "carm" | "selectors"];
const ofUnknown = ([key, runtime, mode = "selectors"]: Unknown): string[] => (
  annotationLines("NS-10", { [key]: "x" }, { settings: { runtime, mode } })
);
testRows("NS-10 warns about an annotation that controllers do not know", ofUnknown, [
  ...[["default-regoin", "default-region"], ["owner-account", "owner-account-id"], ["team_id", "team-id"],
    ["owner-team-id", "team-id"]].map(([key = "", meant = ""]): Row<Unknown> => (
    [key, [`services.k8s.aws/${key}`, "ack"], unknown(`services.k8s.aws/${key}`, meaning(meant))]
  )),
  ["a team of one service", ["s3.services.k8s.aws/team-id", "ack"],
    unknown("s3.services.k8s.aws/team-id",
      "Remove the annotation, and name the group s3.services.k8s.aws in an IAMRoleSelector.")],
  ["a team of one service in mode carm", ["s3.services.k8s.aws/team-id", "ack", "carm"],
    unknown("s3.services.k8s.aws/team-id", "Remove the annotation, and add the key s3.ID to the CARM map, where ID is "
      + "the account or team of the namespace (--service-level-carm).")],
  ["an unknown key", ["services.k8s.aws/zzz", "ack"],
    unknown("services.k8s.aws/zzz", "Remove the annotation, or move it from the namespace to its resources.")],
  ["a proposed key with --runtime extended", ["services.k8s.aws/owner-team-id", "extended"]],
]);

const known = [existingBucket("b1", FIRST), bucketObject({ name: "b2" }), bucketObject({ namespace: "team-b" })];
testRows("NS-13 warns if the deletion of a namespace also deletes ACK resources",
  ([name, operation]: [string, "DELETE" | "CREATE"]) => linesOf("NS-13", namespaceObject(name), { operation, known }), [
    ["two resources", ["team-a", "DELETE"],
      "warn NS-13 metadata.name: the deletion of the namespace also deletes 2 resources: Bucket team-a/b1 and Bucket "
        + "team-a/b2. Until the namespace is deleted, do not change its labels and annotations, or the selectors."],
    ["no resource", ["team-c", "DELETE"]],
    ["the check runs only at DELETE", ["team-a", "CREATE"]],
  ]);

testRows("NS-09 warns about a misspelled service also beside the right one", (annotations: JsonObject) =>
  annotationLines("NS-09", annotations), [
  ["both", { [`DynamoDB.${SUFFIX}`]: "retain", [`dynamodb.${SUFFIX}`]: "delete" }, /^warn NS-09/],
]);
