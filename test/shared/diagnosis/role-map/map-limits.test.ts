import { test } from "tap";
import { LIMITS } from "../../../../shared/core/limits.ts";
import { namesPerUse, shownSentence, shownText } from "../../../../shared/diagnosis/role-map/map-table.ts";
import { bucketObject, namespaceObject, repeat, ROLE, selectorObject } from "../../objects.ts";
import { mapped } from "./mapped.ts";

const TEAM_A = selectorObject("team-a", { arn: ROLE, namespaceSelector: { names: ["team-a"] } });

function numbered(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i);
}

test("a namespace with 5,000 kinds shows 100 of them, and the number of the other resources", (t) => {
  const kinds = numbered(5_000).map((i) => ({ ...bucketObject(), kind: `Kind${i}` }));
  const map = mapped([namespaceObject("team-a"), TEAM_A, ...kinds]);
  t.equal(map.uses.length, LIMITS.mapUses.value + 1);
  t.equal(map.kinds.length, LIMITS.mapUses.value);
  const other = map.uses.find(([, kind]) => kind === -1);
  t.equal(other?.[3], 4_900);
  t.same(map.omitted, [
    "The map leaves out 4900 resources, except their number, state and role, because their namespaces have too many "
      + "kinds.",
    "The map leaves out 4850 names of resources, which no search finds.",
  ]);
  t.end();
});

test("of 100,000 resources, a map leaves out names and namespaces without problems, and says so", (t) => {
  const objects = numbered(100_000).map((i) => bucketObject({ namespace: `n${i % 6_000}`, name: `b${i}` }));
  const map = mapped([selectorObject("all", { arn: ROLE }), ...objects], { isAudited: false });
  t.equal(map.totals.resources, 100_000);
  const [shown, names] = [map.uses.map(([, , , count]) => count), map.uses.flatMap(([, , , , list]) => list)];
  const count = shown.reduce((sum, one) => sum + one, 0);
  t.same([map.namespaces.length, names.length], [LIMITS.mapNamespaces.value, LIMITS.mapNames.value / 2]);
  t.same(map.omitted, [
    `The map leaves out ${6_000 - map.namespaces.length} namespaces, with ${100_000 - count} resources.`,
    `The map leaves out ${count - names.length} names of resources, which no search finds.`,
  ]);
  t.ok(JSON.stringify(map).length < 1_500_000);
  t.end();
});

test("of too many namespaces, those without problems are left out", (t) => {
  const count = LIMITS.mapNamespaces.value + 2;
  const names = numbered(count).map((i) => `n${String(i).padStart(5, "0")}`);
  const last = names.at(-1) ?? "";
  const objects = names.flatMap((name) => [namespaceObject(name), bucketObject({ namespace: name })]);
  const everywhere = selectorObject("all", { arn: ROLE });
  const second = selectorObject("second", { arn: ROLE, namespaceSelector: { names: [last] } });
  const map = mapped([...objects, everywhere, second], { isAudited: false });
  t.equal(map.namespaces.length, LIMITS.mapNamespaces.value);
  t.equal(map.namespaces[0]?.name, last, "the namespace with a conflict is the first");
  t.same(map.omitted, ["The map leaves out 2 namespaces, with 2 resources."]);
  t.equal(map.totals.resources, count);
  t.end();
});

test("of too many selectors and reasons, those without problems are left out", (t) => {
  const count = LIMITS.mapReasons.value + 3;
  const names = numbered(count).map((i) => `n${i}`);
  const selectors = names.map((name) => (
    selectorObject(name, { arn: `${ROLE}-${name}`, namespaceSelector: { names: ["team-a"] },
      resourceLabelSelector: { matchLabels: { own: name } } })
  ));
  const buckets = names.map((name) => bucketObject({ name, labels: { own: name } }));
  const map = mapped([namespaceObject("team-a"), ...selectors, selectorObject("zz", { arn: "x" }), ...buckets], {
    before: [], isAudited: false,
  });
  t.equal(map.selectors.at(-1)?.name, "zz", "the malformed selector is shown");
  t.equal(map.selectors.length, LIMITS.mapSelectors.value);
  const others = map.reasons.filter(({ message }) => message.includes("has no room for this reason"));
  t.equal(map.reasons.length - others.length, LIMITS.mapReasons.value);
  t.ok(others.some(({ state, role }) => state === "resolved" && role !== null), "the others keep their state and role");
  t.ok(map.omitted.includes("The map leaves out 4 selectors."));
  t.ok(map.omitted.includes("The map leaves out 3 reasons for roles."));
  t.end();
});

test("objects with findings and files that were not judged are limited", (t) => {
  const count = LIMITS.mapObjects.value + 1;
  const annotations = { "services.k8s.aws/owner-account-id": "1" };
  const objects = repeat(count, (name) => namespaceObject(name, {}, annotations));
  const unjudged = numbered(count).map((i) => ({ file: `${i}.yaml`, reason: "patch", count: 1 } as const));
  const map = mapped([...objects, TEAM_A], { unjudged });
  t.same([map.objects.length, map.unjudged.length], [count - 1, count - 1]);
  t.same(map.omitted, [
    "The map leaves out 1 object with findings.", "The map leaves out 1 file that were not judged.",
  ]);
  t.end();
});

test("the names of resources fit the limit, fewest of the kinds with many resources", (t) => {
  t.equal(namesPerUse([60, 3], 100), 50);
  t.equal(namesPerUse([60, 3], 52), 20);
  t.equal(namesPerUse([60, 60], 3), 1);
  t.equal(namesPerUse([60, 60], 1), 0);
  const map = mapped([namespaceObject("team-a"), TEAM_A, ...repeat(60, (name) => bucketObject({ name }))]);
  t.match(map.uses, [[0, 0, 0, 60, { length: 50 }]]);
  t.end();
});

test("long names are cut, and unprintable characters escaped", (t) => {
  const name = `\u202Eevil${"x".repeat(10_000)}`;
  t.equal(shownText("a\u0007b"), String.raw`a\u0007b`);
  t.equal(shownText(name), `${String.raw`\u202e`}evil${"x".repeat(295)}… (10005 characters)`);
  t.equal(shownSentence("x".repeat(601)), `${"x".repeat(600)}… (601 characters)`);
  const map = mapped([selectorObject("team-a", { arn: `arn:aws:iam::${"1".repeat(9_000)}:role/x` }), bucketObject({
    name, namespace: name,
  })]);
  t.ok(JSON.stringify(map).length < 5_000);
  t.end();
});

const OF_AWS = "arn:aws:iam::aws:policy/AmazonS3FullAccess";

test("a map contains no external ID and no value of a session tag", (t) => {
  const annotations = {
    "ack-role-resolver.io/external-id": "planted secret", "ack-role-resolver.io/session-tags": "team=planted,env=x",
    "ack-role-resolver.io/session-name": "ci", "ack-role-resolver.io/source-identity": "id",
    "ack-role-resolver.io/duration-seconds": "900", "ack-role-resolver.io/session-policy-arns": OF_AWS,
    "ack-role-resolver.io/session-policy": '{"Statement": {"Sid": "planted"}}',
    "ack-role-resolver.io/session-scope": "service",
  };
  const map = mapped([namespaceObject("team-a"), { ...TEAM_A, metadata: { name: "team-a", annotations } }]);
  t.same(map.selectors[0]?.session, [
    "external ID: set", "session name: ci", "source identity: id", "session tags: env, team", "duration: 900 s",
    "session policy: inline", `session policies: ${OF_AWS}`, "session scope: service",
  ]);
  t.notMatch(JSON.stringify(map), "planted");
  t.match(map.findings[0], { message: "the external ID is not valid" });
  t.end();
});
