import { test } from "tap";
import type { Case } from "./case.ts";
import { differenceLines, differences } from "./differences.ts";

const CASE: Case = {
  id: "review 1", input: "a", outcome: "allowed", status: 200, findings: ["ACK-05 warn metadata"], warnings: 1,
  patch: [{ op: "add", path: "/metadata/annotations", value: { a: "1", b: "2" } }], messages: ["ACK-05 text"],
};

function causes(after: Partial<Case>, messages = false): readonly string[] {
  return differences([CASE], [{ ...CASE, ...after }], { messages }).map(({ cause }) => cause);
}

test("a difference names what changed", async (t) => {
  t.same(causes({}), []);
  t.same(causes({ outcome: "denied", status: 422 }), ["outcome: allowed -> denied", "status: 200 -> 422"]);
  t.same(causes({ findings: ["ACK-05 deny metadata"] }), ["ACK-05 warn -> deny"]);
  t.same(causes({ findings: ["ACK-05 warn spec"] }), ["ACK-05 warn at another place"]);
  t.same(causes({ findings: ["ACK-06 deny spec"] }), ["ACK-05 warn gone", "ACK-06 deny new"]);
  t.same(causes({ patch: [] }), [
    "patch.add /metadata/annotations/a gone", "patch.add /metadata/annotations/b gone",
  ]);
  t.same(causes({ grant: { RoleArn: "x" } }), ["grant new"]);
  t.same(causes({ output: [1] }), ["output new"]);
  t.same(causes({ input: "b", outcome: "denied" }), ["the input differs: the corpus or a fixture has changed"]);
  t.same(causes({ warnings: 2 }), ["number of warnings: 1 -> 2"]);
});

test("a difference of texts for people counts only if messages are compared", async (t) => {
  t.same(causes({ messages: ["other"] }), []);
  t.same(causes({ messages: ["other"] }, true), ["message[]: ACK-05 text -> other"]);
});

test("the cases of one cause are one difference, with three examples", async (t) => {
  const before = ["a", "b", "c", "d"].map((id) => ({ ...CASE, id }));
  const found = differences(before, before.map((one) => ({ ...one, outcome: "denied" })));
  t.same(differenceLines(found), ["    4  outcome: allowed -> denied", "         a", "         b", "         c"]);
  t.same(differences(before, []).map(({ cause, ids }) => [cause, ids.length]), [["case gone", 4]]);
});
