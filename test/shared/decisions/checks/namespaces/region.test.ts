import { test } from "tap";
import type { JsonObject } from "../../../../../shared/formats/json.ts";
import { bucketObject, namespaceObject } from "../../objects.ts";
import { annotationLines, existingBucket, ONE } from "../subjects.ts";

const KEY = "services.k8s.aws/default-region";
const PATH = `metadata.annotations[${KEY}]`;

test("NS-07 denies a default region that is invalid or in another partition than the controllers", (t) => {
  const lines = (value: string, region: string | null = null): string[] => (
    annotationLines("NS-07", { [KEY]: value }, { settings: { region } })
  );
  const fix = "Set a region of the controllers' partition, such as eu-west-1.";
  t.same(lines("Frankfurt"), [`deny NS-07 ${PATH}: "Frankfurt" is not a region. ${fix}`]);
  t.same(lines("eu-west-1a"), [`deny NS-07 ${PATH}: "eu-west-1a" is not a region. ${fix}`]);
  t.same(lines("cn-north-1", "eu-west-1"), [
    `deny NS-07 ${PATH}: region "cn-north-1" is in partition aws-cn, but the controllers are in partition aws. ${fix}`,
  ]);
  const valid = [
    ["eu-west-1", "us-east-1"],
    ["cn-north-1", "cn-northwest-1"],
    ["cn-north-1", null],
    ["", "eu-west-1"],
  ] as const;
  for (const [value, region] of valid) t.same(lines(value, region), [], value);
  t.end();
});

test("NS-07b warns about existing resources that are outside the new default region", (t) => {
  const [here, there] = [{ [KEY]: "eu-west-1" }, { [KEY]: "us-east-1" }];
  const lines = (
    from: JsonObject, to: JsonObject, resource: JsonObject = existingBucket("b1", ONE), region: string | null = null,
  ): string[] => {
    const old = namespaceObject("team-a", {}, from);
    return annotationLines("NS-07b", to, { old, known: [old, resource], settings: { region } });
  };
  const line = (effect: string): string => (
    `warn NS-07b ${PATH}: ${effect} of 1 resource: Bucket team-a/b1. `
    + "Keep the default region, or first set services.k8s.aws/region of these resources to their current region."
  );
  const moved = [line('the default region becomes "us-east-1", which is not the region')];
  t.same(lines(here, there), moved);
  t.same(
    lines({}, there, existingBucket("b1", ONE), "eu-west-1"),
    moved,
    "the default region was the region of the controllers",
  );
  t.same(lines({}, there), moved, "the previous default region is unknown");
  t.same(lines(here, {}), [line("the namespace no longer sets a default region, which is the region")]);
  t.same(lines(here, {}, existingBucket("b1", ONE), "eu-west-1"), [], "the default region does not change");
  t.same(
    lines(here, there, existingBucket("b1", ONE, {}, "us-east-1")),
    [],
    "the new default region is the region of the resource",
  );
  t.same(
    lines(here, there, existingBucket("b1", ONE, {}, "ap-south-1")),
    [],
    "the resource was in another region before",
  );
  const annotations = { "services.k8s.aws/region": "eu-west-1" };
  t.same(lines(here, there, existingBucket("b1", ONE, { annotations })), [], "the resource sets its region");
  t.same(lines(here, there, bucketObject()), [], "the resource does not exist in AWS");
  t.same(lines(here, here), []);
  t.end();
});
