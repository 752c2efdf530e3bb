import { test } from "tap";
import { LabelIndex, type NearLabel } from "../../../shared/core/label-index.ts";

type Label = readonly [key: string, value: string, object: string];

function indexOf(...labels: readonly Label[]): LabelIndex<string> {
  const index = new LabelIndex<string>();
  for (const label of labels) index.add(...label);
  return index;
}

const NONE: NearLabel = { part: "value", names: [], isSure: true };
const ENV = indexOf(["env", "prod", "a"], ["env", "dev", "b"], ["tier", "gold", "a"]);

test("finds the objects of a label until each one is removed", (t) => {
  const index = indexOf(["env", "prod", "a"], ["env", "prod", "b"]);
  t.same([...index.get("env", "prod")], ["a", "b"]);
  index.delete("env", "prod", "a");
  t.equal(index.count("env", "prod"), 1);
  index.delete("env", "prod", "b");
  t.equal(index.count("env", "prod"), 0);
  t.same([...index.get("env", "prod")], []);
  t.end();
});

test("finds the similar value of a key, or else the similar key", (t) => {
  for (const [key, value, expected] of [
    ["env", "prdo", { part: "value", names: ["prod"], isSure: true }],
    ["env", "production", { part: "value", names: ["prod"], isSure: false }],
    ["env", "qa", { part: "value", names: [], isSure: false }],
    ["env", "gold", { part: "value", names: [], isSure: false }],
    ["evn", "prod", { part: "key", names: ["env"], isSure: true }],
    ["environment", "prod", { part: "key", names: ["env"], isSure: false }],
    ["teir", null, { part: "key", names: ["tier"], isSure: true }],
    ["env", "prod", NONE],
    ["env", null, NONE],
  ] as const) t.same(ENV.nearest(key, value), expected, `${key}: ${value}`);
  t.end();
});

test("forgets the names that were searched when one is added or removed", (t) => {
  const index = indexOf(["env", "prod", "a"]);
  const found = (key: string, value: string): readonly string[] => index.nearest(key, value).names;
  t.same([found("env", "staeg"), found("teir", "x")], [[], []]);
  index.add("env", "stage", "b");
  index.add("tier", "gold", "b");
  t.same([found("env", "staeg"), found("teir", "x")], [["stage"], ["tier"]]);
  index.delete("env", "stage", "b");
  index.delete("tier", "gold", "b");
  t.same([found("env", "staeg"), found("teir", "x")], [[], []]);
  t.end();
});

test("searches no similar name among 2,001, and is unsure of more than three", (t) => {
  const values = Array.from({ length: 2000 }, (_, i): Label => ["id", `name-${i}-x`, "a"]);
  t.same(indexOf(...values).nearest("id", "nmae-7-x").names, ["name-7-x"]);
  t.same(indexOf(...values, ["id", "other", "a"]).nearest("id", "nmae-7-x").names, []);
  const near = indexOf(...["stages", "sstage", "staage", "stagge"].map((value): Label => ["env", value, "a"]));
  t.same(near.nearest("env", "stage"), { part: "value", names: ["sstage", "staage", "stages"], isSure: false });
  t.end();
});
