import { test } from "tap";
import { subdomainFaults } from "../../../../shared/decisions/kubernetes-names.ts";
import { selectorName } from "../../../../shared/decisions/migration/selector-name.ts";

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
