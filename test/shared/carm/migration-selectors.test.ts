import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { ACK_GROUPS } from "../../../shared/core/ack-groups.ts";
import { subdomainFaults } from "../../../shared/formats/names.ts";
import { selectorName } from "../../../shared/carm/migration-selectors.ts";
import { bucketObject, kindObject, selectorObject } from "../objects.ts";
import { asModel } from "../carm-model.ts";
import { testRows } from "../rows.ts";
import { A, B, C, mapObject, migrated, ownedNamespace } from "./carm-objects.ts";

const nameOf = (key: string, service: string | null = null, taken: readonly (string | undefined)[] = []): string =>
  selectorName({ via: "account-map", key, service }, (name) => taken.includes(name));

testRows("names a selector after its map key, and adds a digest if the key is not a valid name",
  ([key, service]: [string, string?]) => [nameOf(key, service)], [
    ["a name", ["team-a"], "team-a"],
    ["a dot", ["team.a"], "team.a"],
    ["an account ID", ["111122223333"], "account-111122223333"],
    ["almost an account ID", ["111122223333x"], "111122223333x"],
    ["a service", ["team-a", "s3"], "s3.team-a"],
    ["an account ID of a service", ["111122223333", "s3"], "s3.111122223333"],
    ["upper case", ["Team_A"], "team-a-ce02626d"],
    ["an underscore", ["team_a"], "team-a-9bfcd0ed"],
    ["only an underscore", ["_"], /^role-[0-9a-f]{8}$/],
    ["two dots", ["a..b"], /^a\.b-[0-9a-f]{8}$/],
  ]);

test("adds a digest to a name that is in use, and a different digest if the new name is also in use", (t) => {
  const digested = nameOf("team-a", null, ["team-a"]);
  const again = nameOf("team-a", null, ["team-a", digested]);
  for (const name of [digested, again]) t.match(name, /^team-a-[0-9a-f]{8}$/);
  t.not(again, digested);
  const ofTeam = selectorName({ via: "team-map", key: "team-a", service: null }, (name) => name === "team-a");
  t.not(ofTeam, digested, "the digest depends on the map");
  t.equal(new Set(["Team_A", "team_a", "TEAM_A", "team-A"].map((key) => nameOf(key))).size, 4);
  t.end();
});

test("returns a valid object name for any map key", (t) => {
  const keys = [
    "x".repeat(253), "x".repeat(300), `${"x".repeat(244)}.${"y".repeat(8)}`, `${"x".repeat(243)}.-Y`, "ÄÖ", "..", "-a-",
    "A.-.b", " ", "\u0000", "0",
  ];
  for (const key of keys) t.same(subdomainFaults(nameOf(key)), [], JSON.stringify(key));
  t.equal(nameOf("x".repeat(253)), "x".repeat(253));
  t.equal(nameOf("x".repeat(254)).length, 253);
  t.end();
});

type Input = readonly [
  objects: readonly JsonObject[], settings?: Parameters<typeof migrated>[1], extraGroups?: readonly string[],
];
/** Returns `NAME ROLE in NAMESPACES of GROUPS` for each selector. */
function summaries(input: Input): string[] {
  const { selectors } = migrated(...input);
  return asModel(selectors).map(({ metadata: { name }, spec: { arn, namespaceSelector, resourceTypeSelector } }) => {
    const groups = resourceTypeSelector?.map(({ group }) => group.split(".")[0]) ?? ["everything"];
    const listed = groups.length > 3 ? `all but ${ACK_GROUPS.length - groups.length} groups` : groups.join();
    return `${name} ${arn.split("/")[1]} in ${namespaceSelector?.names.join()} of ${listed}`;
  }).toSorted();
}

const GATE = { serviceLevelCARM: true } as const;
const blue = (data: Record<string, string>, ...more: readonly JsonObject[]): JsonObject[] =>
  [mapObject("account", data), ownedNamespace("a", "blue"), ...more];
const SERVICES = blue({ blue: A, "s3.blue": B, "sqs.blue": B, "sns.blue": C, "rds.blue": "" });
const TEAMS = [
  mapObject("account", { blue: A }), mapObject("team", { blue: B }), ownedNamespace("a", "blue", "blue"),
  ownedNamespace("b", "blue"),
];
const version = [{ name: "v1", served: true, storage: true }];
const GROUPS = blue(
  { blue: A, "one.blue": B, "two.blue": B, "three.blue": B, "four.blue": B },
  kindObject("Thing", "one.services.k8s.aws", version), kindObject("Thing", "example.com", version),
  { ...bucketObject({ namespace: "a" }), apiVersion: "two.services.k8s.aws/v1" },
);

testRows("generates the selectors of the maps", summaries, [
  ["one selector for a role", [[
    mapObject("account", { "111122223333": A, blue: A, "444455556666": B, unused: C }),
    ownedNamespace("two", "111122223333"), ownedNamespace("one", "111122223333"), ownedNamespace("three", "blue"),
    ownedNamespace("four", "444455556666"), ownedNamespace("five", null),
  ]], "account-111122223333 a in one,three,two of everything", "account-444455556666 b in four of everything"],
  ["all other groups of the plain key if the map has a service key", [SERVICES, GATE],
    "blue a in a of all but 3 groups", "s3.blue b in a of s3,sqs", "sns.blue c in a of sns"],
  ["without ServiceLevelCARM the service keys are ignored", [SERVICES], "blue a in a of everything"],
  ["a service key with the same role as the plain key", [blue({ blue: A, "s3.blue": A }), GATE],
    "blue a in a of everything"],
  ["a missing plain key", [blue({ "s3.blue": A }), GATE], "s3.blue a in a of s3"],
  ["TeamLevelCARM is off", [TEAMS], "blue a in a,b of everything"],
  ["only the team of a namespace if TeamLevelCARM is on", [TEAMS, { teamLevelCARM: true }],
    "blue a in b of everything", /^blue-[0-9a-f]{8} b in a of everything$/],
  ["groups of installed kinds and of resources, and groups that the user sets",
    [GROUPS, GATE, ["three.services.k8s.aws"]], /^blue a in a of all but/, /^\S+ b in a of one,three,two$/],
  ["a stored selector with another role has the name", [blue({ blue: A }, selectorObject("blue", { arn: C }))],
    /^blue-[0-9a-f]{8} a in a/],
  ["a malformed selector has the name", [blue({ blue: A }, selectorObject("blue", { arn: "not-an-arn" }))],
    /^blue-[0-9a-f]{8} a in a/],
  ["a stored selector with the same role is reused", [blue({ blue: A }, selectorObject("blue", { arn: A }))],
    "blue a in a of everything"],
  ["an invalid ARN, an invalid name of a namespace, and a namespace that CARM ignores", [[
    mapObject("account", { blue: A, root: "arn:aws:iam::111122223333:root" }), ownedNamespace("a", "root"),
    ownedNamespace("No_Name", "blue"), ownedNamespace("kube-system", "blue"),
  ]]],
]);

test("the generated selectors are complete objects", (t) => {
  const { selectors: [, selector], proof } = migrated(SERVICES, GATE);
  t.same(selector, {
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name: "s3.blue" },
    spec: {
      arn: B, namespaceSelector: { names: ["a"] },
      resourceTypeSelector: ["s3", "sqs"].map((name) => ({ group: `${name}.services.k8s.aws`, version: "", kind: "" })),
    },
  });
  t.same([proof.differences, proof.unknownGroups], [[], ["a"]]);
  t.end();
});

test("the proof covers each namespace, group and installed kind", (t) => {
  const plain = migrated(blue({ blue: A })).proof;
  t.same(plain, { resources: 0, pairs: 2 * (ACK_GROUPS.length + 1), differences: [], unknownGroups: [] });
  const { proof } = migrated(GROUPS, GATE, ["three.services.k8s.aws"]);
  t.match(proof, { resources: 1, pairs: 2 * (ACK_GROUPS.length + 3 + 1 + 1), differences: [] });
  const alone = migrated(blue({ "s3.blue": A }), GATE);
  t.equal(alone.proof.differences[0]?.groups.length, ACK_GROUPS.length - 1, "every other group differs");
  t.end();
});
