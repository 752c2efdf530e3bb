import { test } from "tap";
import { labelsSatisfy } from "../../../shared/decisions/label-selector.ts";
import { LABEL_SELECTOR_TEXT, parseLabelSelector } from "../../../shared/decisions/label-selector-text.ts";

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

test("each form of a requirement is read as Kubernetes reads it", (t) => {
  for (const [text, key, operator, values] of READ) {
    t.match(text, FORM);
    t.same(parseLabelSelector(text), { matchLabels: [], matchExpressions: [{ key, operator, values }] }, text);
  }
  t.end();
});

test("requirements are parted by commas, values inside parentheses too", (t) => {
  const text = " team=a, tier in (gold,silver) ,!old";
  t.match(text, FORM);
  const selector = parseLabelSelector(text);
  t.ok(labelsSatisfy(new Map([["team", "a"], ["tier", "silver"]]), selector));
  t.notOk(labelsSatisfy(new Map([["team", "a"], ["tier", "silver"], ["old", ""]]), selector));
  t.notOk(labelsSatisfy(new Map([["team", "a"], ["tier", "bronze"]]), selector));
  t.end();
});

test("what is no selector does not match", (t) => {
  for (const text of ["", ",", "team=a,", "=a", "team in gold", "team in (gold", "team ~ a", "team=a b", "!", "a=b=c"]) t.notMatch(text, FORM, JSON.stringify(text));
  t.end();
});
