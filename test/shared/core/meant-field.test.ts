import { test } from "tap";
import { fieldOfList } from "../../../shared/core/meant-field.ts";

test("names the field that accepts a list only if there is no other one", async (t) => {
  const texts = { type: "array", items: { type: "string" } };
  t.equal(fieldOfList(["a"], { properties: { names: texts, count: { type: "integer" } } }), "names");
  t.equal(fieldOfList(["a"], { properties: { names: texts, tags: texts } }), null);
  t.equal(fieldOfList(["a"], { properties: {} }), null);
});
