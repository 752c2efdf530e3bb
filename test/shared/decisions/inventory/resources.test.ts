import { test } from "tap";
import { InternPool } from "../../../../shared/decisions/inventory/resources.ts";

test("equal maps are one, others are not", (t) => {
  const interned = new InternPool();
  const first = interned.map(new Map([["a", "1"], ["b", "2"]]));
  t.same([...first], [["a", "1"], ["b", "2"]]);
  t.equal(interned.map(new Map([["a", "1"], ["b", "2"]])), first);
  t.not(interned.map(new Map([["a", "1"], ["b", "3"]])), first);
  t.not(interned.map(new Map([["a", '1","b'], ["2", ""]])), first);
  t.equal(interned.map(new Map()), interned.map(new Map()));
  t.end();
});

test("what is known is forgotten when it is too much, and is still right", (t) => {
  const interned = new InternPool();
  const first = interned.map(new Map([["a", "1"]]));
  for (let i = 0; i < 65_537; i++) interned.string(`text ${i}`);
  t.equal(interned.string("text 0"), "text 0");
  t.equal(interned.map(new Map([["a", "1"]])), first, "texts and maps are counted apart");
  for (let i = 0; i < 65_536; i++) interned.map(new Map([["n", String(i)]]));
  const again = interned.map(new Map([["a", "1"]]));
  t.not(again, first);
  t.same([...again], [["a", "1"]]);
  t.end();
});
