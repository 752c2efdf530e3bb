import { test } from "tap";
import { isEmptySelector, isOperator, type LabelRequirement, labelsSatisfy } from "../../../shared/decisions/label-selector.ts";

const holds = (labels: Readonly<Record<string, string>>, ...matchExpressions: readonly LabelRequirement[]): boolean =>
  labelsSatisfy(new Map(Object.entries(labels)), { matchLabels: [], matchExpressions });

test("each operator holds for an absent, an empty, a listed and another value as Kubernetes has it", (t) => {
  const rows: readonly (readonly [operator: LabelRequirement["operator"], absent: boolean, empty: boolean, listed: boolean, other: boolean])[] = [
    ["In", false, false, true, false], ["NotIn", true, true, false, true], ["Exists", false, true, true, true], ["DoesNotExist", true, false, false, false],
  ];
  for (const [operator, ...expected] of rows) {
    const requirement = { key: "k", operator, values: ["a", "b"] };
    t.same([{}, { k: "" }, { k: "b" }, { k: "c" }].map((labels) => holds(labels, requirement)), expected, operator);
  }
  t.end();
});

test("all parts are ANDed, and with none everything is satisfied", (t) => {
  const selector = { matchLabels: [["a", "1"], ["b", ""]] as const, matchExpressions: [{ key: "c", operator: "Exists" as const, values: [] }] };
  t.equal(labelsSatisfy(new Map([["a", "1"], ["b", ""], ["c", "x"]]), selector), true);
  for (const key of ["a", "b", "c"]) t.equal(labelsSatisfy(new Map([["a", "1"], ["b", ""], ["c", "x"]].filter(([name]) => name !== key).map(([name = "", value = ""]) => [name, value])), selector), false, `without ${key}`);
  t.equal(holds({}), true);
  t.same([isEmptySelector(selector), isEmptySelector({ matchLabels: [], matchExpressions: [] }), isEmptySelector({ ...selector, matchLabels: [] })], [false, true, false]);
  t.end();
});

test("operators are spelled as in Kubernetes", (t) => {
  for (const operator of ["In", "NotIn", "Exists", "DoesNotExist"]) t.equal(isOperator(operator), true);
  for (const operator of ["in", "", "=", "constructor"]) t.equal(isOperator(operator), false);
  t.end();
});
