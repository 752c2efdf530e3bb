import { test } from "tap";
import { ACCOUNT_MAP, mapObject, namespaceObject, selectorObject } from "../objects.ts";
import { type Row, testRows } from "../rows.ts";
import type { Circumstances } from "../core/findings.ts";
import { annotated, CLUSTER_OBJECTS, type Input, of, skippedChecks, tiered } from "./resource-lines.ts";

const ACK = "services.k8s.aws/";
const RESOLVER = "ack-role-resolver.io/";
const line = (start: string, key: string, text: string): string => `${start} metadata.annotations[${key}]: ${text}.`;
/** Returns a row for each value of the annotation. */
const each = (key: string, values: readonly string[], found?: (value: string) => string): Row<Input>[] =>
  values.map((value) => [`${key}: "${value}"`, [annotated({ [key]: value })], ...(found ? [found(value)] : [])]);

const forged = annotated({
  [`${RESOLVER}role-arn`]: "arn:aws:iam::1:role/x", [`${RESOLVER}outcome`]: "selected",
  [`${RESOLVER}conflicting-selectors`]: "a",
});
const FORGED = line("warn ACK-02", `${RESOLVER}role-arn`, `${RESOLVER}role-arn is "arn:aws:iam::1:role/x" but should `
  + `be `
  + `"arn:aws:iam::111122223333:role/gold"; ${RESOLVER}conflicting-selectors is "a" but should be absent. Remove the `
  + "annotation; the webhook sets the resolved value");

testRows("ACK-02 warns about a resolution annotation with a wrong value, and never denies", of("ACK-02"), [
  ["forged", [forged], FORGED],
  ["--check ACK-02=deny", [forged, { settings: { checkSeverities: new Map([["ACK-02", "deny" as const]]) } }], FORGED],
  ["correct", [annotated({ [`${RESOLVER}selector`]: "gold", [`${RESOLVER}allow`]: "ACK-17" })]],
]);

test("ACK-02 requires selectors and namespaces", (t) => {
  t.equal(skippedChecks(forged, { origin: "file", known: [] })["ACK-02"], "selectors and namespaces");
  t.end();
});

const REGION = `${ACK}region`;
const region = (text: string): string => line("deny ACK-10", REGION,
  `${text}. Set a region of the role's partition, such as eu-west-1, or remove the annotation`);
const china = selectorObject("china", {
  arn: "arn:aws-cn:iam::111122223333:role/gold", namespaceSelector: { names: ["team-a"] },
});
const IN_CHINA = { known: [...CLUSTER_OBJECTS, china] };

const NEW = selectorObject("new", {
  arn: "arn:aws-new:iam::111122223333:role/gold", namespaceSelector: { names: ["team-a"] },
});

/** A resource whose annotation names the region `new-north-1`, and whose status names a partition and a region. */
function recorded(partition: string, inRegion: string): Input {
  const status = { ackResourceMetadata: { ownerAccountID: "111122223333", region: inRegion, partition } };
  const object = { ...annotated({ [REGION]: "new-north-1" }, tiered()), status };
  return [object, { known: [...CLUSTER_OBJECTS, NEW], origin: "file" }];
}

testRows("ACK-10 denies an invalid region, and a region in another partition than the role", of("ACK-10"), [
  ...each(REGION, ["Frankfurt", "eu-west"], (value) => region(`"${value}" is not a region`)),
  ...each(REGION, ["eu_west_1", " EU-West-1 ", "eu-west-1a"], (value) => (
    line("deny ACK-10", REGION, `"${value}" is not a region. Write "eu-west-1"`)
  )),
  ...each(REGION, [""], () => line("deny ACK-10", REGION, '"" is not a region. Remove the annotation')),
  ...each(REGION, ["eu-west-1"]),
  ["no annotation", [tiered("gold")]],
  ["the stored region", [annotated({ [REGION]: "x" }), { old: annotated({ [REGION]: "x" }) }], /^warn ACK-10/],
  ["another partition", [annotated({ [REGION]: "cn-north-1" })],
    region('region "cn-north-1" is in partition "aws-cn", but the role is in partition "aws"')],
  ["the controller's role is unknown", [annotated({ [REGION]: "cn-north-1" }, tiered())]],
  ["a role in China", [annotated({ [REGION]: "cn-north-1" }, tiered()), IN_CHINA]],
  ["a region outside of China", [annotated({ [REGION]: "eu-west-1" }, tiered()), IN_CHINA],
    /in partition "aws", but the role is in partition "aws-cn"/],
  ["a new region whose partition the status records", recorded("aws-new", "new-north-1")],
  ["a new region of another partition", recorded("aws-other", "new-north-1"),
    /"new-north-1" is in partition "aws-other", but the role is in partition "aws-new"/],
  ["a new region, if the status records the partition of another one", recorded("aws-new", "new-south-1")],
  ["a new region and an empty partition in the status", recorded("", "new-north-1")],
]);

const GOVERNED = namespaceObject("team-a", {}, { [`${ACK}default-region`]: "us-gov-west-1" });
const ofDefault = (text: string): string => `deny ACK-10 metadata: region ${text}, but the role is in partition "aws". `
  + `Set ${REGION} to a region of the role's partition, or correct the default region.`;
const CARM: Circumstances = {
  known: [namespaceObject("team-a", {}, { [`${ACK}owner-account-id`]: "111122223333" }),
    mapObject(ACCOUNT_MAP, { "111122223333": "arn:aws:iam::111122223333:role/gold" })],
  settings: { mode: "carm", region: "cn-north-1" },
};

testRows("ACK-10 denies a resource whose role is in another partition than its default region", of("ACK-10"), [
  ["of the namespace", [tiered("gold"), { known: [...CLUSTER_OBJECTS.slice(1), GOVERNED] }],
    ofDefault('"us-gov-west-1", the default region of the namespace, is in partition "aws-us-gov"')],
  ["the resource has its own region",
    [annotated({ [REGION]: "eu-west-1" }), { known: [...CLUSTER_OBJECTS.slice(1), GOVERNED] }]],
  ["of the controllers, with a role of a CARM map", [tiered(), CARM],
    ofDefault('"cn-north-1", that of the controllers, is in partition "aws-cn"')],
  ["IRS-04 reports the selector", [tiered("gold"), { settings: { region: "cn-north-1" } }]],
  ["the same partition", [tiered("gold"), { settings: { region: "eu-west-1" } }]],
  ["a region of a new partition", [tiered(), { ...CARM, settings: { ...CARM.settings, region: "new-north-1" } }]],
  ["no role", [tiered(), { known: [...CLUSTER_OBJECTS.slice(1), GOVERNED] }]],
]);

const POLICY = `${ACK}deletion-policy`;
testRows("ACK-11 denies an unknown deletion policy", of("ACK-11"), [
  ...each(POLICY, ["Delete", "delet", " delete"], (value) => line("deny ACK-11", POLICY, `"${value}" is neither `
    + 'delete nor retain, so controllers treat it as retain. Write "delete"')),
  ...each(POLICY, ["keep", ""], (value) => line("deny ACK-11", POLICY, `"${value}" is neither delete nor `
    + 'retain, so controllers treat it as retain. To keep the AWS resource, write "retain"; or to delete it, write '
    + '"delete"')),
  ...each(POLICY, ["delete", "retain"]),
]);

testRows("ACK-13 warns about an annotation value that controllers treat as false", of("ACK-13"),
  [`${ACK}adopted`, `${ACK}read-only`].flatMap((key) => [
    ...each(key, ["yes", "ture"], (value) => line("warn ACK-13", key,
      `"${value}" is neither "true" nor "false", so controllers treat it as false. Write "true"`)),
    ...each(key, ["2"], () => line("warn ACK-13", key, '"2" is neither "true" nor "false", so controllers treat it as '
      + 'false. If "false" is meant, write "false"; or if "true" is meant, write "true"')),
    ...each(key, ["true", "True", "false"]),
  ]));

const ofNamespaces = ["owner-account-id", "team-id", "endpoint-url", "default-region"].map((name) => ACK + name);
const unknown = (key: string, fix: string): string =>
  line("warn ACK-15", key, `controllers do not know this annotation. ${fix}`);

testRows("ACK-15 warns about an annotation of namespaces and about an unknown one", of("ACK-15"), [
  ...[...ofNamespaces, "s3.services.k8s.aws/deletion-policy"].flatMap((key) => each(key, ["x"], () => (
    line("warn ACK-15", key, "controllers read this annotation on namespaces only, and ignore it on a resource. "
      + "Move the annotation to the namespace, or remove it")
  ))),
  ["annotations of resources", [annotated({ [REGION]: "eu-west-1", [POLICY]: "retain", "example.com/team-id": "x" })]],
  ["misspelled", [annotated({ [`${ACK}deletion-polcy`]: "retain" })],
    unknown(`${ACK}deletion-polcy`, "Set services.k8s.aws/deletion-policy if you meant that, or remove the "
      + "annotation")],
  ["misspelled, with another value", [annotated({ [`${ACK}deletion-polcy`]: "x" })], /^warn ACK-15/],
  ["misspelled, beside the right one", [annotated({ [POLICY]: "retain", [`${ACK}deletion-polcy`]: "retain" })],
    /^warn ACK-15/],
  ["of namespaces, for the service of the resource", [annotated({ [`s3.${POLICY}`]: "retain" })], /^warn ACK-15/],
  ["of a proposal", [annotated({ [`${ACK}aws-region`]: "x" })],
    unknown(`${ACK}aws-region`, "Set services.k8s.aws/region if you meant that, or remove the annotation")],
  ["not similar", [annotated({ [`${ACK}zzz`]: "x" })], unknown(`${ACK}zzz`, "Remove the annotation")],
  ["of other groups", [annotated({ "eks.services.k8s.aws/zzz": "x", "example.com/regoin": "x" })]],
]);

const DRIFT = `${ACK}ignore-field-drift`;
const noPath = (path: string): string => line("warn ACK-20", DRIFT, `"${path}" is not the path of a spec field. `
  + "Write the paths of spec fields, separated by commas: spec.tags, spec.scaling.size");

testRows("ACK-20 warns about an annotation value that is not the path of a spec field", of("ACK-20"), [
  ["three of five", [annotated({ [DRIFT]: "spec.tags[0], spec.a,, tags,spec..a" })],
    noPath("spec.tags[0]"), noPath("tags"), noPath("spec..a")],
  ["only a text that means no path", [annotated({ [DRIFT]: "a b, " })], noPath("a b")],
  ["paths", [annotated({ [DRIFT]: "spec.tags, spec.scaling_config.size-max" })]],
  ["no annotation", [tiered("gold")]],
]);
