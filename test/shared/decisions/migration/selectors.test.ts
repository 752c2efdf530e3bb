import { test } from "tap";
import type { JsonObject } from "../../../../shared/formats/json.ts";
import { ACK_GROUPS } from "../../../../shared/contract/ack-groups.ts";
import { subdomainFaults } from "../../../../shared/formats/names.ts";
import { selectorName } from "../../../../shared/resolution/migration-selectors.ts";
import { bucketObject, kindObject, selectorObject } from "../objects.ts";
import { asModel } from "./carm-model.ts";
import { A, B, C, mapObject, migrated, ownedNamespace } from "./carm-objects.ts";

const free = (): boolean => false;
const nameOf = (key: string, service: string | null = null, isTaken: (name: string) => boolean = free): string =>
  selectorName({ via: "account-map", key, service }, isTaken);

test("names a selector after its map key, with a prefix if the key is an account ID or has a service", (t) => {
  t.equal(nameOf("team-a"), "team-a");
  t.equal(nameOf("team.a"), "team.a");
  t.equal(nameOf("111122223333"), "account-111122223333");
  t.equal(nameOf("111122223333x"), "111122223333x");
  t.equal(nameOf("team-a", "s3"), "s3.team-a");
  t.equal(nameOf("111122223333", "s3"), "s3.111122223333");
  t.end();
});

test("converts a map key that is not a valid name to a name that ends in a unique digest", (t) => {
  t.equal(nameOf("Team_A"), "team-a-ce02626d");
  t.equal(nameOf("team_a"), "team-a-9bfcd0ed");
  t.match(nameOf("_"), /^role-[0-9a-f]{8}$/);
  t.match(nameOf("a..b"), /^a\.b-[0-9a-f]{8}$/);
  t.equal(new Set(["Team_A", "team_a", "TEAM_A", "team-A"].map((key) => nameOf(key))).size, 4);
  t.end();
});

test("adds a digest to a name that is in use, and a different digest if the new name is also in use", (t) => {
  const digested = nameOf("team-a", null, (name) => name === "team-a");
  t.match(digested, /^team-a-[0-9a-f]{8}$/);
  t.match(nameOf("team-a", null, (name) => name === "team-a" || name === digested), /^team-a-[0-9a-f]{8}$/);
  t.not(nameOf("team-a", null, (name) => name === "team-a" || name === digested), digested);
  t.not(
    selectorName({ via: "team-map", key: "team-a", service: null }, (name) => name === "team-a"),
    digested,
    "the digest depends on the map",
  );
  t.end();
});

test("returns a valid object name for any map key", (t) => {
  for (const key of [
    "x".repeat(253),
    "x".repeat(300),
    `${"x".repeat(244)}.${"y".repeat(8)}`,
    `${"x".repeat(243)}.-Y`,
    "ÄÖ",
    "..",
    "-a-",
    "A.-.b",
    " ",
    "\u0000",
    "0",
  ]) {
    const name = nameOf(key);
    t.same(subdomainFaults(name), [], JSON.stringify(name));
  }
  t.equal(nameOf("x".repeat(253)), "x".repeat(253));
  t.equal(nameOf("x".repeat(254)).length, 253);
  t.end();
});

/** Returns `NAME ROLE in NAMESPACES of GROUPS` for each selector. */
function summaries(selectors: readonly JsonObject[]): string[] {
  return asModel(selectors).map(({ metadata: { name }, spec: { arn, namespaceSelector, resourceTypeSelector } }) => {
    const groups = resourceTypeSelector?.map(({ group }) => group.split(".")[0]) ?? ["everything"];
    const listed = groups.length > 3 ? `${groups.length} groups` : groups.join();
    return `${name} ${arn.split("/")[1]} in ${namespaceSelector?.names.join()} of ${listed}`;
  });
}

test("generates one selector for a role, and lists all namespaces that name a key of the role", (t) => {
  const objects = [
    mapObject("account", { "111122223333": A, blue: A, "444455556666": B, unused: C }),
    ownedNamespace("two", "111122223333"),
    ownedNamespace("one", "111122223333"),
    ownedNamespace("three", "blue"),
    ownedNamespace("four", "444455556666"),
    ownedNamespace("five", null),
  ];
  const { selectors, proof } = migrated(objects);
  t.same(summaries(selectors), [
    "account-111122223333 a in one,three,two of everything",
    "account-444455556666 b in four of everything",
  ]);
  t.same(selectors[0], {
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name: "account-111122223333" },
    spec: { arn: A, namespaceSelector: { names: ["one", "three", "two"] } },
  });
  t.same(proof, { resources: 0, pairs: 6 * (ACK_GROUPS.length + 1), differences: [], unknownGroups: [] });
  t.end();
});

test("lists all other groups in the selector of the plain key if the map has a service key", (t) => {
  const gate = { serviceLevelCARM: true } as const;
  const objects = [
    mapObject("account", { blue: A, "s3.blue": B, "sqs.blue": B, "sns.blue": C, "rds.blue": "" }),
    ownedNamespace("a", "blue"),
  ];
  const { selectors, proof } = migrated(objects, gate);
  t.same(summaries(selectors), [
    `blue a in a of ${ACK_GROUPS.length - 3} groups`,
    "s3.blue b in a of s3,sqs",
    "sns.blue c in a of sns",
  ]);
  t.same(selectors[1], {
    apiVersion: "services.k8s.aws/v1alpha1",
    kind: "IAMRoleSelector",
    metadata: { name: "s3.blue" },
    spec: {
      arn: B,
      namespaceSelector: { names: ["a"] },
      resourceTypeSelector: [
        { group: "s3.services.k8s.aws", version: "", kind: "" },
        { group: "sqs.services.k8s.aws", version: "", kind: "" },
      ],
    },
  });
  t.same([proof.differences, proof.unknownGroups], [[], ["a"]]);
  t.same(
    summaries(migrated(objects).selectors),
    ["blue a in a of everything"],
    "without ServiceLevelCARM the service keys are ignored",
  );
  t.end();
});

test("ignores a service key with the same role as the plain key, and accepts a missing plain key", (t) => {
  const gate = { serviceLevelCARM: true } as const;
  t.same(
    summaries(migrated([mapObject("account", { blue: A, "s3.blue": A }), ownedNamespace("a", "blue")], gate).selectors),
    ["blue a in a of everything"],
  );
  const alone = migrated([mapObject("account", { "s3.blue": A }), ownedNamespace("a", "blue")], gate);
  t.same(summaries(alone.selectors), ["s3.blue a in a of s3"]);
  t.equal(alone.proof.differences[0]?.groups.length, ACK_GROUPS.length - 1, "every other group differs");
  t.end();
});

test("uses only the team of a namespace if TeamLevelCARM is on", (t) => {
  const objects = [
    mapObject("account", { blue: A }),
    mapObject("team", { blue: B }),
    ownedNamespace("a", "blue", "blue"),
    ownedNamespace("b", "blue"),
  ];
  t.same(summaries(migrated(objects).selectors), ["blue a in a,b of everything"]);
  const { selectors } = migrated(objects, { teamLevelCARM: true });
  t.match(
    summaries(selectors).toSorted().join("; "),
    /^blue a in b of everything; blue-[0-9a-f]{8} b in a of everything$/,
  );
  t.end();
});

test("covers known ACK groups, groups of installed kinds and of resources, and groups that the user sets", (t) => {
  const objects = [
    mapObject("account", { blue: A, "one.blue": B, "two.blue": B, "three.blue": B, "four.blue": B }),
    ownedNamespace("a", "blue"),
    kindObject("Thing", "one.services.k8s.aws", [{ name: "v1", served: true, storage: true }]),
    kindObject("Thing", "example.com", [{ name: "v1", served: true, storage: true }]),
    { ...bucketObject({ namespace: "a" }), apiVersion: "two.services.k8s.aws/v1" },
  ];
  const { selectors, proof } = migrated(objects, { serviceLevelCARM: true }, ["three.services.k8s.aws"]);
  t.match(JSON.parse(JSON.stringify(selectors)), [
    {},
    {
      spec: {
        arn: B,
        resourceTypeSelector: ["one", "three", "two"].map((name) => ({ group: `${name}.services.k8s.aws` })),
      },
    },
  ]);
  t.match(
    proof,
    { resources: 1, pairs: 2 * (ACK_GROUPS.length + 3 + 1 + 1), differences: [] },
    "the proof covers each installed kind",
  );
  t.end();
});

test("does not reuse the name of a stored selector that has another role", (t) => {
  const objects = [mapObject("account", { blue: A }), ownedNamespace("a", "blue")];
  const names = (stored: JsonObject): string[] => summaries(migrated([...objects, stored]).selectors);
  t.match(names(selectorObject("blue", { arn: C }))[0], /^blue-[0-9a-f]{8} a in a/);
  t.match(names(selectorObject("blue", { arn: "not-an-arn" }))[0], /^blue-[0-9a-f]{8} a in a/);
  t.same(
    names(selectorObject("blue", { arn: A })),
    ["blue a in a of everything"],
    "a selector with the same role is reused",
  );
  t.end();
});

test("does not generate a selector for an invalid ARN or an invalid namespace name", (t) => {
  const objects = [
    mapObject("account", { blue: A, root: "arn:aws:iam::111122223333:root" }),
    ownedNamespace("a", "root"),
    ownedNamespace("No_Name", "blue"),
    ownedNamespace("kube-system", "blue"),
  ];
  t.same(migrated(objects).selectors, []);
  t.end();
});
