import { test } from "tap";
import type { JsonObject } from "../../../../../shared/decisions/kubernetes/json.ts";
import { bucketObject, namespaceObject } from "../../objects.ts";
import { annotationLines, existing, ONE } from "../subjects.ts";

const KEY = "services.k8s.aws/default-region";
const PATH = `metadata.annotations[${KEY}]`;

test("NS-07: a default region has the form of one, of the controllers' partition", (t) => {
  const lines = (value: string, region: string | null = null): string[] => annotationLines("NS-07", { [KEY]: value }, { settings: { region } });
  const fix = "Write a region of the controllers' partition, such as eu-west-1.";
  t.same(lines("Frankfurt"), [`deny NS-07 ${PATH}: "Frankfurt" is not a region. ${fix}`]);
  t.same(lines("eu-west-1a"), [`deny NS-07 ${PATH}: "eu-west-1a" is not a region. ${fix}`]);
  t.same(lines("cn-north-1", "eu-west-1"), [`deny NS-07 ${PATH}: cn-north-1 is in partition aws-cn, and the controllers are in aws. ${fix}`]);
  for (const [value, region] of [["eu-west-1", "us-east-1"], ["cn-north-1", "cn-northwest-1"], ["cn-north-1", null], ["", "eu-west-1"]] as const) t.same(lines(value, region), [], value);
  t.end();
});

test("NS-07b: a default region that leaves existing resources behind is told", (t) => {
  const step = (from: JsonObject, to: JsonObject, resources: readonly JsonObject[], region: string | null = null): string[] => {
    const old = namespaceObject("team-a", {}, from);
    return annotationLines("NS-07b", to, { old, known: [old, ...resources], settings: { region } });
  };
  const fix = "Keep the default, or annotate these resources with services.k8s.aws/region first.";
  const [here, there] = [{ [KEY]: "eu-west-1" }, { [KEY]: "us-east-1" }];
  const told = [`warn NS-07b ${PATH}: the default region becomes "us-east-1", other than that of 1 resource: Bucket team-a/b1. ${fix}`];
  t.same(step(here, there, [existing("b1", ONE)]), told);
  t.same(step({}, there, [existing("b1", ONE)], "eu-west-1"), told, "from that of the controllers");
  t.same(step({}, there, [existing("b1", ONE)]), told, "from one that is not known");
  t.same(step(here, {}, [existing("b1", ONE)]), [`warn NS-07b ${PATH}: the namespace has no default region any more, which is that of 1 resource: Bucket team-a/b1. ${fix}`]);
  t.same(step(here, {}, [existing("b1", ONE)], "eu-west-1"), [], "to the same");
  t.same(step(here, there, [existing("b1", ONE, {}, "us-east-1")]), [], "it comes home");
  t.same(step(here, there, [existing("b1", ONE, {}, "ap-south-1")]), [], "it was elsewhere before");
  t.same(step(here, there, [existing("b1", ONE, { annotations: { "services.k8s.aws/region": "eu-west-1" } })]), [], "it says its own");
  t.same(step(here, there, [bucketObject()]), [], "it does not exist");
  t.same(step(here, here, [existing("b1", ONE)]), []);
  t.end();
});
