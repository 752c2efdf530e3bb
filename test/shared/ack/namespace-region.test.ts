import type { JsonObject } from "../../../shared/formats/json.ts";
import { bucketObject, existingBucket, FIRST, namespaceObject, selectorObject } from "../objects.ts";
import { testRows } from "../rows.ts";
import { annotationLines } from "../core/findings.ts";

const KEY = "services.k8s.aws/default-region";
const PATH = `metadata.annotations[${KEY}]`;
const invalid = (text: string): string =>
  `deny NS-07 ${PATH}: ${text}. Set a region of the controllers' partition, such as eu-west-1.`;

testRows("NS-07 denies a default region that is invalid or in another partition than the controllers",
  ([value, region]: [string, string | null]) => annotationLines("NS-07", { [KEY]: value }, { settings: { region } }), [
    ["a city", ["Frankfurt", null], invalid('"Frankfurt" is not a region')],
    ["a zone", ["eu-west-1a", null], `deny NS-07 ${PATH}: "eu-west-1a" is not a region. Write "eu-west-1".`],
    ["another partition", ["cn-north-1", "eu-west-1"],
      invalid('region "cn-north-1" is in partition aws-cn, but the controllers are in partition aws')],
    ["a region", ["eu-west-1", "us-east-1"]],
    ["a region in China", ["cn-north-1", "cn-northwest-1"]],
    ["the region of the controllers is unknown", ["cn-north-1", null]],
    ["a region of a new partition", ["new-north-1", "eu-west-1"]],
    ["controllers in a new partition", ["eu-west-1", "new-north-1"]],
    ["empty", ["", "eu-west-1"]],
  ]);

const roleIn = (partition: string, name = partition): JsonObject => selectorObject(name, {
  arn: `arn:${partition}:iam::111122223333:role/r`, namespaceSelector: { names: ["team-a"] },
  resourceLabelSelector: { matchLabels: { tier: name } },
});
const ofQueues = (partition: string): JsonObject => selectorObject("queues", {
  arn: `arn:${partition}:iam::111122223333:role/r`,
  resourceTypeSelector: [{ group: "sqs.services.k8s.aws", version: "", kind: "" }],
});
const ofRoles = (names: string): string => (
  `deny NS-07 ${PATH}: region "cn-north-1" is in partition aws-cn, but no role of its selectors is: ${names}. `
  + "Set a region of the partition of these roles."
);

testRows("NS-07 denies a default region of another partition than every role of the selectors of the namespace",
  ([region, known, mode = "selectors"]: [string, readonly JsonObject[], ("selectors" | "carm")?]) => (
    annotationLines("NS-07", { [KEY]: region }, { known, settings: { mode } })
  ), [
    ["another partition", ["cn-north-1", [roleIn("aws")]], ofRoles("aws")],
    ["several roles", ["cn-north-1", [roleIn("aws", "a"), roleIn("aws-us-gov", "b")]], ofRoles("a and b")],
    ["one of the roles is usable", ["cn-north-1", [roleIn("aws"), roleIn("aws-cn")]]],
    ["a selector of every namespace has a usable role", ["cn-north-1", [roleIn("aws"), ofQueues("aws-cn")]]],
    ["a selector of every namespace has no usable role either", ["cn-north-1", [roleIn("aws"), ofQueues("aws")]],
      ofRoles("aws")],
    ["a selector of another namespace has a usable role",
      ["cn-north-1", [roleIn("aws"), selectorObject("b", {
        arn: "arn:aws-cn:iam::111122223333:role/r", namespaceSelector: { names: ["team-b"] },
      })]], ofRoles("aws")],
    ["the partition of the role", ["us-gov-west-1", [roleIn("aws-us-gov")]]],
    ["a region of a new partition", ["new-north-1", [roleIn("aws-new")]]],
    ["no selector", ["cn-north-1", []]],
    ["selectors have no effect", ["cn-north-1", [roleIn("aws")], "carm"]],
  ]);

const line = (effect: string): string => (
  `warn NS-07b ${PATH}: ${effect} of 1 resource: Bucket team-a/b1. `
  + "Keep the default region, or first set services.k8s.aws/region of these resources to their current region."
);
const MOVED = line('the default region becomes "us-east-1", which is not the region');
const [HERE, THERE] = [{ [KEY]: "eu-west-1" }, { [KEY]: "us-east-1" }];
const B1 = existingBucket("b1", FIRST);
const pinned = existingBucket("b1", FIRST, { annotations: { "services.k8s.aws/region": "eu-west-1" } });

type Input = readonly [from: JsonObject, to: JsonObject, resource?: JsonObject, region?: string | null];
testRows("NS-07b warns about existing resources that are outside the new default region",
  ([from, to, resource = B1, region = null]: Input) => {
    const old = namespaceObject("team-a", {}, from);
    return annotationLines("NS-07b", to, { old, known: [old, resource], settings: { region } });
  }, [
    ["another region", [HERE, THERE], MOVED],
    ["the default region was the region of the controllers", [{}, THERE, B1, "eu-west-1"], MOVED],
    ["the previous default region is unknown", [{}, THERE], MOVED],
    ["no region", [HERE, {}], line("the namespace no longer sets a default region, which is the region")],
    ["the region of the controllers is the same", [HERE, {}, B1, "eu-west-1"]],
    ["the region of the resource", [HERE, THERE, existingBucket("b1", FIRST, {}, "us-east-1")]],
    ["the resource was in another region before", [HERE, THERE, existingBucket("b1", FIRST, {}, "ap-south-1")]],
    ["the resource sets its region", [HERE, THERE, pinned]],
    ["the resource does not exist in AWS", [HERE, THERE, bucketObject()]],
    ["no change", [HERE, HERE]],
  ]);
