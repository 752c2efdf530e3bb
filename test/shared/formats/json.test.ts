import { test } from "tap";
import { omitField } from "../../../shared/formats/json.ts";

test("omitField returns a copy without the field, and an empty object for another value", (t) => {
  const object = { a: 1, b: 2 };
  t.same(omitField(object, "a"), { b: 2 });
  t.same(object, { a: 1, b: 2 });
  for (const value of [null, undefined, "a", [1]]) t.same(omitField(value, "a"), {});
  t.end();
});
