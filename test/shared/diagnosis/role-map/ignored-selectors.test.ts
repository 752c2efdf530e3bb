import { test } from "tap";
import type { JsonObject } from "../../../../shared/formats/json.ts";
import { bucketObject, namespaceObject, ROLE, selectorObject } from "../../objects.ts";
import { mapped, useTexts } from "./mapped.ts";

const BUCKETS = ["team-a", "team-b", "unknown"].map((namespace) => bucketObject({ namespace }));
const OBJECTS = [namespaceObject("team-a", { tier: "a" }), namespaceObject("team-b", { tier: "b" }), ...BUCKETS];

/** Returns the namespaces for which a malformed selector is written that asks for these namespaces. */
function ignoredIn(namespaceSelector?: JsonObject): string[] {
  const broken = selectorObject("broken", { arn: "x", ...(namespaceSelector && { namespaceSelector }) });
  const map = mapped([selectorObject("all", { arn: ROLE }), broken, ...OBJECTS]);
  return map.namespaces.filter(({ ignored }) => ignored.some((index) => map.selectors[index]?.name === "broken"))
    .map(({ name }) => name).toSorted();
}

test("a malformed selector is for the namespaces that it names, and whose labels it asks for", (t) => {
  const expression = (operator: string): JsonObject => (
    { labelSelector: { matchLabels: {}, matchExpressions: [{ key: "tier", operator, values: ["a"] }] } }
  );
  t.same(ignoredIn({ names: ["team-a", "team-a", "absent"] }), ["team-a"]);
  t.same(ignoredIn({ names: [], labelSelector: { matchLabels: { tier: "b" } } }), ["team-b"]);
  t.same(ignoredIn({ names: ["team-a", "team-b"], labelSelector: { matchLabels: { tier: "b" } } }), ["team-b"]);
  t.same(ignoredIn(expression("NotIn")), ["team-b"], "not of a namespace whose labels are unknown");
  t.same(ignoredIn({ names: ["unknown"], ...expression("In") }), ["unknown"]);
  t.same(ignoredIn(expression("Equals")), [], "no operator");
  t.same([ignoredIn({ names: [] }), ignoredIn()], [[], []], "without a condition, it is for none");
  t.end();
});

test("a namespace has at most 20 malformed selectors, and comes before those in which nothing is wrong", (t) => {
  const broken = Array.from({ length: 21 }, (_, i) => (
    selectorObject(`broken-${i}`, { arn: "x", namespaceSelector: { names: ["team-b"] } })
  ));
  const map = mapped([selectorObject("all", { arn: ROLE }), ...broken, ...OBJECTS]);
  const counts = map.namespaces.map(({ name, ignored }) => `${name} ${ignored.length}`);
  t.same(counts, ["team-b 20", "team-a 0", "unknown 0"]);
  t.match(useTexts(map)[0], /^team-b Bucket.s3.services.k8s.aws resolved/);
  t.end();
});
