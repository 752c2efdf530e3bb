import { test } from "tap";
import { ACK_GROUPS } from "../../../../shared/decisions/kubernetes/ack-groups.ts";
import type { JsonObject } from "../../../../shared/decisions/kubernetes/json.ts";
import { subdomainFaults } from "../../../../shared/decisions/kubernetes/names.ts";
import { selectorName } from "../../../../shared/decisions/migration/selectors.ts";
import { bucketObject, kindObject, selectorObject } from "../objects.ts";
import { asModel } from "./carm-model.ts";
import { A, B, C, mapObject, migrated, ownedNamespace } from "./carm-objects.ts";

const free = (): boolean => false;
const nameOf = (key: string, service: string | null = null, isTaken: (name: string) => boolean = free): string => selectorName({ via: "account-map", key, service }, isTaken);

test("a key that is a name is the name, an account's number says what it is, and a service comes before its key", (t) => {
  t.equal(nameOf("team-a"), "team-a");
  t.equal(nameOf("team.a"), "team.a");
  t.equal(nameOf("111122223333"), "account-111122223333");
  t.equal(nameOf("111122223333x"), "111122223333x");
  t.equal(nameOf("team-a", "s3"), "s3.team-a");
  t.equal(nameOf("111122223333", "s3"), "s3.111122223333");
  t.end();
});

test("a key that is no name is made one, with a digest that keeps it apart from what it looks like", (t) => {
  t.equal(nameOf("Team_A"), "team-a-ce02626d");
  t.equal(nameOf("team_a"), "team-a-9bfcd0ed");
  t.match(nameOf("_"), /^role-[0-9a-f]{8}$/);
  t.match(nameOf("a..b"), /^a\.b-[0-9a-f]{8}$/);
  t.equal(new Set(["Team_A", "team_a", "TEAM_A", "team-A"].map((key) => nameOf(key))).size, 4);
  t.end();
});

test("a name that is taken gets the digest, and another where that is taken too", (t) => {
  const digested = nameOf("team-a", null, (name) => name === "team-a");
  t.match(digested, /^team-a-[0-9a-f]{8}$/);
  t.match(nameOf("team-a", null, (name) => name === "team-a" || name === digested), /^team-a-[0-9a-f]{8}$/);
  t.not(nameOf("team-a", null, (name) => name === "team-a" || name === digested), digested);
  t.not(selectorName({ via: "team-map", key: "team-a", service: null }, (name) => name === "team-a"), digested, "the maps are told apart");
  t.end();
});

test("every name is one that an object can have, however long or odd the key", (t) => {
  for (const key of ["x".repeat(253), "x".repeat(300), `${"x".repeat(244)}.${"y".repeat(8)}`, `${"x".repeat(243)}.-Y`, "ÄÖ", "..", "-a-", "A.-.b", " ", "\u0000", "0"]) {
    const name = nameOf(key);
    t.same(subdomainFaults(name), [], JSON.stringify(name));
  }
  t.equal(nameOf("x".repeat(253)), "x".repeat(253));
  t.equal(nameOf("x".repeat(254)).length, 253);
  t.end();
});

/** `NAME ROLE in NAMESPACES of GROUPS`, a line each. */
function summaries(selectors: readonly JsonObject[]): string[] {
  return asModel(selectors).map(({ metadata: { name }, spec: { arn, namespaceSelector, resourceTypeSelector } }) => {
    const groups = resourceTypeSelector?.map(({ group }) => group.split(".")[0]) ?? ["everything"];
    return `${name} ${arn.split("/")[1]} in ${namespaceSelector?.names.join()} of ${groups.length > 3 ? `${groups.length} groups` : groups.join()}`;
  });
}

test("a role is one selector over all the namespaces that its keys are named in", (t) => {
  const objects = [
    mapObject("account", { "111122223333": A, "blue": A, "444455556666": B, "unused": C }),
    ownedNamespace("two", "111122223333"), ownedNamespace("one", "111122223333"), ownedNamespace("three", "blue"), ownedNamespace("four", "444455556666"), ownedNamespace("five", null),
  ];
  const { selectors, proof } = migrated(objects);
  t.same(summaries(selectors), ["account-111122223333 a in one,three,two of everything", "account-444455556666 b in four of everything"]);
  t.same(selectors[0], {
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name: "account-111122223333" },
    spec: { arn: A, namespaceSelector: { names: ["one", "three", "two"] } },
  });
  t.same(proof, { resources: 0, pairs: 6 * (ACK_GROUPS.length + 1), differences: [], unknownGroups: [] });
  t.end();
});

test("the key of a service takes its group away from the others, which are then all listed", (t) => {
  const gate = { serviceLevelCARM: true } as const;
  const objects = [mapObject("account", { blue: A, "s3.blue": B, "sqs.blue": B, "sns.blue": C, "rds.blue": "" }), ownedNamespace("a", "blue")];
  const { selectors, proof } = migrated(objects, gate);
  t.same(summaries(selectors), [`blue a in a of ${ACK_GROUPS.length - 3} groups`, "s3.blue b in a of s3,sqs", "sns.blue c in a of sns"]);
  t.same(selectors[1], {
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name: "s3.blue" },
    spec: {
      arn: B, namespaceSelector: { names: ["a"] },
      resourceTypeSelector: [{ group: "s3.services.k8s.aws", version: "", kind: "" }, { group: "sqs.services.k8s.aws", version: "", kind: "" }],
    },
  });
  t.same([proof.differences, proof.unknownGroups], [[], ["a"]]);
  t.same(summaries(migrated(objects).selectors), ["blue a in a of everything"], "not without the gate");
  t.end();
});

test("a service's key with the plain key's role changes nothing, and one without a plain key stands alone", (t) => {
  const gate = { serviceLevelCARM: true } as const;
  t.same(summaries(migrated([mapObject("account", { blue: A, "s3.blue": A }), ownedNamespace("a", "blue")], gate).selectors), ["blue a in a of everything"]);
  const alone = migrated([mapObject("account", { "s3.blue": A }), ownedNamespace("a", "blue")], gate);
  t.same(summaries(alone.selectors), ["s3.blue a in a of s3"]);
  t.equal(alone.proof.differences[0]?.groups.length, ACK_GROUPS.length - 1, "and every other group stops being refused");
  t.end();
});

test("a team decides alone with its gate", (t) => {
  const objects = [mapObject("account", { blue: A }), mapObject("team", { blue: B }), ownedNamespace("a", "blue", "blue"), ownedNamespace("b", "blue")];
  t.same(summaries(migrated(objects).selectors), ["blue a in a,b of everything"]);
  const { selectors } = migrated(objects, { teamLevelCARM: true });
  t.match(summaries(selectors).toSorted().join("; "), /^blue a in b of everything; blue-[0-9a-f]{8} b in a of everything$/);
  t.end();
});

test("the groups are those of the release, of installed kinds, of resources, and the given ones", (t) => {
  const objects = [
    mapObject("account", { blue: A, "one.blue": B, "two.blue": B, "three.blue": B, "four.blue": B }), ownedNamespace("a", "blue"),
    kindObject("Thing", "one.services.k8s.aws", [{ name: "v1", served: true, storage: true }]), kindObject("Thing", "example.com", [{ name: "v1", served: true, storage: true }]),
    { ...bucketObject({ namespace: "a" }), apiVersion: "two.services.k8s.aws/v1" },
  ];
  const { selectors, proof } = migrated(objects, { serviceLevelCARM: true }, ["three.services.k8s.aws"]);
  t.match(JSON.parse(JSON.stringify(selectors)), [{}, { spec: { arn: B, resourceTypeSelector: ["one", "three", "two"].map((name) => ({ group: `${name}.services.k8s.aws` })) } }]);
  t.match(proof, { resources: 1, pairs: 2 * (ACK_GROUPS.length + 3 + 1 + 1), differences: [] }, "and an installed kind is a kind of its own");
  t.end();
});

test("no name is given that stands for another role already: a role can never be changed", (t) => {
  const objects = [mapObject("account", { blue: A }), ownedNamespace("a", "blue")];
  const names = (stored: JsonObject): string[] => summaries(migrated([...objects, stored]).selectors);
  t.match(names(selectorObject("blue", { arn: C }))[0], /^blue-[0-9a-f]{8} a in a/);
  t.match(names(selectorObject("blue", { arn: "not-an-arn" }))[0], /^blue-[0-9a-f]{8} a in a/);
  t.same(names(selectorObject("blue", { arn: A })), ["blue a in a of everything"], "but its own it keeps");
  t.end();
});

test("what is no role's ARN gets no selector, nor does a namespace that cannot be", (t) => {
  const objects = [mapObject("account", { blue: A, root: "arn:aws:iam::111122223333:root" }), ownedNamespace("a", "root"), ownedNamespace("No_Name", "blue"), ownedNamespace("kube-system", "blue")];
  t.same(migrated(objects).selectors, []);
  t.end();
});
