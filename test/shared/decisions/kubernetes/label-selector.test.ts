import { test } from "tap";
import {
  isEmptySelector, isOperator, LABEL_SELECTOR_TEXT, type LabelRequirement, parseLabelSelector, satisfies,
} from "../../../../shared/decisions/kubernetes/label-selector.ts";

const FORM = new RegExp(LABEL_SELECTOR_TEXT);

const READ: readonly (readonly [text: string, key: string, operator: string, values: readonly string[]])[] = [
  ["team=a", "team", "In", ["a"]],
  ["team == a", "team", "In", ["a"]],
  ["team=", "team", "In", [""]],
  ["example.com/team!=a", "example.com/team", "NotIn", ["a"]],
  ["tier in (gold, silver)", "tier", "In", ["gold", "silver"]],
  ["tier in (gold)", "tier", "In", ["gold"]],
  ["tier notin ( gold,silver )", "tier", "NotIn", ["gold", "silver"]],
  ["managed", "managed", "Exists", []],
  ["! old", "old", "DoesNotExist", []],
];

test("parses each form of a label requirement as Kubernetes does", (t) => {
  for (const [text, key, operator, values] of READ) {
    t.match(text, FORM);
    t.same(parseLabelSelector(text), { matchLabels: [], matchExpressions: [{ key, operator, values }] }, text);
  }
  t.end();
});

test("splits label requirements and their values at commas", (t) => {
  const text = " team=a, tier in (gold,silver) ,!old";
  t.match(text, FORM);
  const selector = parseLabelSelector(text);
  t.ok(satisfies(new Map([["team", "a"], ["tier", "silver"]]), selector));
  t.notOk(satisfies(new Map([["team", "a"], ["tier", "silver"], ["old", ""]]), selector));
  t.notOk(satisfies(new Map([["team", "a"], ["tier", "bronze"]]), selector));
  t.end();
});

test("does not match invalid label selectors", (t) => {
  for (const text of ["", ",", "team=a,", "=a", "team in gold", "team in (gold", "team ~ a", "team=a b", "!", "a=b=c"])
    t.notMatch(text, FORM, JSON.stringify(text));
  t.end();
});

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
