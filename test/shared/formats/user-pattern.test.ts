import { assert, property, array, constantFrom } from "fast-check";
import { test } from "tap";
import { matchesPattern } from "../../../shared/formats/names.ts";

const ROLE = "arn:aws:sts::111122223333:assumed-role/ACKCapability/";

test("matches exact names, and patterns in which * stands for any characters", (t) => {
  const cases: readonly (readonly [pattern: string, text: string, expected: boolean])[] = [
    ["jane", "jane", true],
    ["jane", "janet", false],
    ["jane", "Jane", false],
    [`${ROLE}*`, `${ROLE}i-0abc`, true],
    [`${ROLE}*`, ROLE, true],
    [`${ROLE}*`, "arn:aws:sts::999999999999:assumed-role/ACKCapability/x", false],
    [`${ROLE}*`, `x${ROLE}x`, false],
    ["*/ack", "a/b/ack", true],
    ["*/ack", "ack", false],
    ["a*b*a", "aba", true],
    ["a*b*a", "ab", false],
    ["a*a", "a", false],
    ["a*ab*b", "aabb", true],
    ["a*ab*b", "aab", false],
    ["a**b", "ab", true],
    ["a.c", "abc", false],
    ["[a-z]+", "abc", false],
  ];
  for (const [pattern, text, expected] of cases) t.equal(matchesPattern(pattern, text), expected, `${pattern} ${text}`);
  t.end();
});

test("matches the same texts as a regular expression", (t) => {
  const word = array(constantFrom("a", "b", "*"), { maxLength: 8 }).map((letters) => letters.join(""));
  const text = array(constantFrom("a", "b"), { maxLength: 10 }).map((letters) => letters.join(""));
  assert(property(word, text, (pattern, name) => (
    matchesPattern(pattern, name) === new RegExp(`^${pattern.replaceAll("*", ".*")}$`).test(name)
  )), { numRuns: 2_000 });
  t.pass("1 property");
  t.end();
});

test("does not backtrack if a pattern has many wildcards", (t) => {
  t.equal(matchesPattern(`${"*a".repeat(128)}*b`, "a".repeat(4_096)), false);
  t.end();
});
