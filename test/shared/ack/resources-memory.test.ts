import { test } from "tap";
import { InternPool } from "../../../shared/ack/resources.ts";

test("returns the same map object for equal maps", (t) => {
  const pool = new InternPool();
  const first = pool.map(new Map([["a", "1"], ["b", "2"]]));
  t.same([...first], [["a", "1"], ["b", "2"]]);
  t.equal(pool.map(new Map([["a", "1"], ["b", "2"]])), first);
  t.not(pool.map(new Map([["a", "1"], ["b", "3"]])), first);
  t.not(pool.map(new Map([["a", '1","b'], ["2", ""]])), first);
  t.equal(pool.map(new Map()), pool.map(new Map()));
  t.end();
});

test("clears the intern pool if it is full, and still returns equal values", (t) => {
  const pool = new InternPool();
  const first = pool.map(new Map([["a", "1"]]));
  for (let i = 0; i < 65_537; i++) pool.string(`text ${i}`);
  t.equal(pool.string("text 0"), "text 0");
  t.equal(pool.map(new Map([["a", "1"]])), first, "the limit of strings does not affect maps");
  for (let i = 0; i < 65_536; i++) pool.map(new Map([["n", String(i)]]));
  const again = pool.map(new Map([["a", "1"]]));
  t.not(again, first);
  t.same([...again], [["a", "1"]]);
  t.end();
});
