import { test } from "tap";
import { excessOf } from "../../../shared/formats/json.ts";

const nested = (levels: number): unknown => {
  let value: unknown = {};
  for (let i = 1; i < levels; i++) value = i % 2 === 0 ? [value] : { a: value };
  return value;
};

test("accepts a value within the bounds, and reports where a value first exceeds them", (t) => {
  const bounds = { maxDepth: 3, maxValues: 4 };
  for (const value of [null, "text", 1, {}, [], nested(3), { a: 1, b: [2, 3] }]) t.equal(excessOf(value, bounds), null);
  t.match(excessOf(nested(4), bounds), { message: "the object is nested deeper than 3 levels" });
  t.same(excessOf({ a: { b: { c: {} } } }, bounds)?.path, ["a", "b", "c"]);
  for (const value of [[1, 2, 3, 4, 5], { a: 1, b: 2, c: 3, d: 4, e: 5 }, { a: [1, 2], b: { c: 1 } }]) {
    t.same(excessOf(value, bounds), { path: [], message: "the object has more than 4 values" });
  }
  t.same(excessOf(JSON.parse('{"__proto__": [[[1]]]}'), bounds)?.path, ["__proto__", 0, 0]);
  t.end();
});

test("stops where a value first exceeds the bounds, and does not recurse", (t) => {
  const bounds = { maxDepth: 100, maxValues: 100_000 };
  t.match(excessOf(nested(1_000_000), bounds), { message: /deeper than 100 levels/ });
  t.equal(excessOf(nested(1_000_000), bounds)?.path.length, 10, "the path is cut");
  t.match(excessOf(Array.from({ length: 1_000_000 }, () => 0), bounds), { message: /more than 100000 values/ });
  t.end();
});
