import { test, type Test } from "tap";
import { conditionOf, evaluateCondition, parseOperator } from "../../../shared/trust/condition.ts";
import type { LookUp, Possibilities } from "../../../shared/trust/policy-variables.ts";

const ROLE = "arn:aws:iam::111122223333:role/app";
const KEYS: Readonly<Record<string, Possibilities>> = {
  one: [[{ text: "a", isPrefix: false }]],
  two: [[{ text: "a", isPrefix: false }, { text: "b", isPrefix: false }]],
  absent: [null],
  maybe: [null, [{ text: "a", isPrefix: false }]],
  unknown: [null, [{ text: "", isPrefix: true }]],
  prefix: [[{ text: "AROA:", isPrefix: true }]],
  number: [[{ text: "10", isPrefix: false }]],
  time: [[{ text: "2026-11-24T00:00:00Z", isPrefix: false }]],
  bool: [[{ text: "true", isPrefix: false }]],
  empty: [[{ text: "", isPrefix: false }]],
  ip: [[{ text: "10.1.2.3", isPrefix: false }]],
  arn: [[{ text: ROLE, isPrefix: false }]],
  star: [[{ text: "*", isPrefix: false }]],
};
const lookUp: LookUp = (key) => KEYS[key] ?? [null, [{ text: "", isPrefix: true }]];

/** Returns the answer of `OPERATOR KEY VALUE...`, with what is missing. */
function answer(text: string, hasVariables = true): string {
  const [operator = "", key = "", ...values] = text.split(" ");
  const { answer: found, missing } = evaluateCondition(conditionOf(operator, key, values, hasVariables), lookUp);
  return [found, ...missing].join(" ");
}

function check(t: Test, cases: Readonly<Record<string, string>>): void {
  for (const [text, expected] of Object.entries(cases)) t.equal(answer(text), expected, text);
}

test("compares a value that is present", async (t) => {
  check(t, {
    "StringEquals one a": "yes", "StringEquals one b a": "yes", "StringEquals one A": "no", "stringequals ONE a": "yes",
    "StringEquals one *": "no", "StringLike one *": "yes", "StringLike one ?": "yes", "StringNotLike one b* a": "no",
    "StringNotEquals one b c": "yes", "StringEqualsIgnoreCase one A": "yes", "StringNotEqualsIgnoreCase one A": "no",
    "StringEquals star *": "yes", "ArnEquals arn arn:aws:iam::*:role/*": "yes",
    "ArnNotLike arn arn:aws:iam::*:role/b": "yes",
    "ArnLike one *": "unknown one",
    "NumericEquals number 10.0": "yes", "NumericNotEquals number 10": "no", "NumericLessThan number 10": "no",
    "NumericLessThanEquals number 10": "yes", "NumericGreaterThan number 9": "yes",
    "NumericGreaterThanEquals number 11": "no", "NumericEquals number ten": "unknown number",
    "DateLessThan time 2026-11-25": "yes", "DateGreaterThan time 1700000000": "yes",
    "DateEquals time soon": "unknown time",
    "Bool bool TRUE": "yes", "Bool bool false": "no", "Bool one true": "unknown one",
    "IpAddress ip 10.0.0.0/8": "yes", "NotIpAddress ip 10.0.0.0/8": "no", "IpAddress ip x": "unknown ip",
    "BinaryEquals one YQ==": "unknown operator BinaryEquals", "StringEquals one": "unknown values of one",
  });
});

test("treats an absent key as its operator demands", async (t) => {
  check(t, {
    "StringEquals absent a": "no", "StringNotEquals absent a": "yes", "ArnLike absent a": "no",
    "ArnNotLike absent a": "yes",
    "StringEqualsIfExists absent a": "yes", "StringNotEqualsIfExists absent a": "yes",
    "BoolIfExists absent true": "yes",
    "NumericLessThan absent 1": "no", "NumericNotEquals absent 1": "yes", "NotIpAddress absent 10.0.0.0/8": "yes",
    "Null absent true": "yes", "Null absent false": "no", "Null one true": "no", "Null one True false": "yes",
    "Null one maybe": "unknown one", "NullIfExists one true": "unknown operator NullIfExists",
    "ForAllValues:Null one true": "unknown operator ForAllValues:Null",
    "ForAllValues:StringEquals absent a": "yes", "ForAnyValue:StringEquals absent a": "no",
    "ForAnyValue:StringEqualsIfExists absent a": "unknown absent", "ForAllValues:StringEqualsIfExists absent a": "yes",
    "ForAnyValue:StringNotEquals absent a": "no",
  });
});

test("compares several values with a set operator", async (t) => {
  check(t, {
    "ForAllValues:StringEquals two a": "no", "ForAllValues:StringEquals two a b c": "yes",
    "ForAnyValue:StringEquals two b": "yes", "ForAnyValue:StringLike two c*": "no",
    "ForAllValues:StringNotEquals two c": "yes", "ForAnyValue:StringNotEquals two a": "yes",
    "StringEquals two a": "unknown two", "StringEquals two c": "no", "StringEquals two a b": "yes",
    "ForAnyValue:StringEquals empty ": "unknown empty", "ForAllValues:StringEquals empty a": "unknown empty",
    "ForAnyValue:StringEquals empty a": "no", "ForAllValues:StringEquals empty ": "yes",
  });
});

test("decides an unknown key only if every value has the same answer", async (t) => {
  check(t, {
    "StringEquals unknown a": "unknown unknown", "StringLikeIfExists unknown *": "yes",
    "StringLike unknown *": "unknown unknown",
    "Null unknown true": "unknown unknown", "StringEquals maybe b": "no", "StringEquals maybe a": "unknown maybe",
    "StringNotEquals maybe b": "yes", "StringEqualsIfExists maybe a": "yes", "StringLike prefix AROA:*": "yes",
    "StringLike prefix AROB:*": "no", "StringEquals prefix AROA:x": "unknown prefix",
    "NumericEquals prefix 1": "unknown prefix",
    "Bool unknown true": "unknown unknown",
  });
});

test("replaces variables with the values of the request", async (t) => {
  check(t, {
    "StringEquals one ${one}": "yes", "StringEquals one ${ONE}": "yes", "StringEquals one x${one}": "no",
    "StringEquals one ${absent,'a'}": "yes", "StringEquals star ${*}": "yes", "StringLike one ${*}": "no",
    "StringLike one ${?}": "no", "StringEquals one ${$}{one}": "no", "StringLike one ${star}": "no",
    "StringEquals one ${unknown}": "unknown ${unknown}", "StringEquals absent ${unknown}": "no",
    "StringEquals one ${prefix}": "unknown ${prefix}", "StringEquals one ${": "unknown ${}",
    "StringEquals one ${'a}": "unknown ${}",
    "ArnLike arn ${arn}": "yes", "StringLike empty *${empty}*": "yes",
  });
  t.equal(answer(`StringEquals one ${"${".repeat(60_000)}`), "unknown ${}", "takes linear time");
  t.equal(answer("StringEquals one ${one}", false), "no", "a policy of version 2008-10-17 has no variables");
});

test("is never certain that a condition with a variable without a value is true", async (t) => {
  check(t, {
    "StringEquals one ${absent}": "no", "StringNotEquals one ${absent}": "unknown ${absent}",
    "StringEquals one ${absent} a": "unknown ${absent}", "StringEquals one ${two}": "no",
    "StringEqualsIfExists absent ${absent}": "unknown ${absent}",
  });
});

test("parses operators", async (t) => {
  t.match(parseOperator("ForAllValues:StringNotEqualsIfExists"), {
    comparison: "text", isNegated: true, set: "all", ifExists: true,
  });
  t.same(
    [parseOperator("StringMatches"), parseOperator("ForSome:StringEquals"), parseOperator("")], [null, null, null],
  );
});
