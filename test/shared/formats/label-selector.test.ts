import { test } from "tap";
import {
  isEmptySelector, isOperator, type LabelRequirement, satisfies,
} from "../../../shared/formats/label-selector.ts";

const matches = (labels: Readonly<Record<string, string>>, ...matchExpressions: readonly LabelRequirement[]): boolean =>
  satisfies(new Map(Object.entries(labels)), { matchLabels: [], matchExpressions });

test("matches each operator against missing, empty, listed and unlisted values as Kubernetes does", (t) => {
  const rows: readonly (readonly [
    operator: LabelRequirement["operator"],
    absent: boolean,
    empty: boolean,
    listed: boolean,
    other: boolean,
  ])[] = [
    ["In", false, false, true, false],
    ["NotIn", true, true, false, true],
    ["Exists", false, true, true, true],
    ["DoesNotExist", true, false, false, false],
  ];
  for (const [operator, ...expected] of rows) {
    const requirement = { key: "k", operator, values: ["a", "b"] };
    t.same([{}, { k: "" }, { k: "b" }, { k: "c" }].map((labels) => matches(labels, requirement)), expected, operator);
  }
  t.end();
});

test("matches if all requirements match, and an empty label selector matches all labels", (t) => {
  const selector = {
    matchLabels: [
      ["a", "1"],
      ["b", ""],
    ] as const,
    matchExpressions: [{ key: "c", operator: "Exists" as const, values: [] }],
  };
  t.equal(satisfies(new Map([["a", "1"], ["b", ""], ["c", "x"]]), selector), true);
  for (const key of ["a", "b", "c"])
    t.equal(
      satisfies(
        new Map(
          [
            ["a", "1"],
            ["b", ""],
            ["c", "x"],
          ]
            .filter(([name]) => name !== key)
            .map(([name = "", value = ""]) => [name, value]),
        ),
        selector,
      ),
      false,
      `without ${key}`,
    );
  t.equal(matches({}), true);
  t.same(
    [
      isEmptySelector(selector),
      isEmptySelector({ matchLabels: [], matchExpressions: [] }),
      isEmptySelector({ ...selector, matchLabels: [] }),
    ],
    [false, true, false],
  );
  t.end();
});

test("accepts only the operators that Kubernetes defines", (t) => {
  for (const operator of ["In", "NotIn", "Exists", "DoesNotExist"]) t.equal(isOperator(operator), true);
  for (const operator of ["in", "", "=", "constructor"]) t.equal(isOperator(operator), false);
  t.end();
});

test("a long list of values is searched once for each label, not value by value", (t) => {
  const values = Array.from({ length: 20_000 }, (_, i) => `v${i}`);
  Object.assign(values, { includes: () => t.fail("the values are compared one by one") });
  for (const [value, isIn] of [["v0", true], ["v19999", true], ["v20000", false], ["__proto__", false]] as const) {
    t.equal(matches({ team: value }, { key: "team", operator: "In", values }), isIn, value);
    t.equal(matches({ team: value }, { key: "team", operator: "NotIn", values }), !isIn, value);
  }
  t.end();
});
