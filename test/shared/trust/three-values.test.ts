import { test } from "tap";
import { agreed, allOf, anyOf, known, NO, not, unknown, YES } from "../../../shared/trust/three-values.ts";

const A = unknown("a");
const B = unknown("b");

test("joins answers, and names what is missing only if the answer depends on it", async (t) => {
  t.same([allOf([]), allOf([YES, YES]), allOf([YES, A, NO]), allOf([A, YES, B, A])], [YES, YES, NO, unknown("a", "b")]);
  t.same([anyOf([]), anyOf([NO, NO]), anyOf([NO, A, YES]), anyOf([A, NO])], [NO, NO, YES, A]);
  t.same([not(YES), not(NO), not(A), known(true), known(false)], [NO, YES, A, YES, NO]);
});

test("decides only what all cases agree on", async (t) => {
  t.same([agreed([YES, YES], "key"), agreed([NO], "key")], [YES, NO]);
  t.same(agreed([YES, NO], "key"), unknown("key"));
  t.same(agreed([YES, A], "key"), unknown("a", "key"));
  t.same(agreed([A, B], "key"), unknown("a", "b"));
  t.same([agreed([unknown()], "key"), agreed([], "key")], [unknown("key"), unknown("key")]);
});
