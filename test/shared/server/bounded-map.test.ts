import { test } from "tap";
import { BoundedMap } from "../../../shared/server/bounded-map.ts";

test("a full BoundedMap removes the entry that was set the longest time ago", (t) => {
  const map = new BoundedMap<string, number>(2);
  map.set("a", 1).set("b", 2).set("a", 3);
  t.same([...map], [["b", 2], ["a", 3]], "a key that is set again becomes the newest");
  map.set("c", 4);
  t.same([...map], [["a", 3], ["c", 4]]);
  t.end();
});
