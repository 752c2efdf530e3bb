import * as fc from "fast-check";
import { test } from "tap";
import {
  matches, matchesAction, matchesARN, matchesResource, unitsOf, wildcards,
} from "../../../shared/trust/wildcard-pattern.ts";
import { parameters } from "../property.ts";

const ROLE = "arn:aws:iam::111122223333:role/team/app";

function answer(pattern: string, text: string, isPrefix = false, end = ""): string {
  return matches(wildcards(pattern), { text, isPrefix, end }).answer;
}

test("matches like a regular expression", async (t) => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "*", "?") , maxLength: 8 });
  fc.assert(fc.property(text, text, (pattern, value) => {
    const source = pattern.replaceAll("?", ".").replaceAll("*", ".*");
    return (answer(pattern, value) === "yes") === new RegExp(`^${source}$`, "s").test(value);
  }), parameters(t, 2_000));
});

test("decides a prefix only if every rest has the same answer", async (t) => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "?", "*"), maxLength: 6 });
  fc.assert(fc.property(text, text, text, text, (pattern, prefix, rest, end) => {
    const known = answer(pattern, prefix, true, end);
    return known === "unknown" || known === answer(pattern, prefix + rest + end);
  }), parameters(t, 2_000));
  t.same(["a*b", "a*c", "ab", "*c*"].map((pattern) => answer(pattern, "a", true, "b")), [
    "unknown", "no", "unknown", "unknown",
  ]);
  t.same([answer("AROA:*", "AROA:", true), answer("AIDA:*", "AROA:", true)], ["yes", "no"]);
  t.same([answer("ab", "a", true), answer("*b", "a", true), answer("a", "ab", true)], ["unknown", "unknown", "no"]);
});

test("takes bounded time for a hostile pattern", async (t) => {
  t.equal(answer("*a".repeat(500), `${"a".repeat(2_000)}b`), "no");
  t.equal(answer("*".repeat(60_000), "a".repeat(2_000)), "yes");
  t.equal(answer("*a".repeat(60_000), "a".repeat(2_000)), "no");
  t.equal(answer("*a".repeat(60_000), "a".repeat(2_000), true), "unknown");
  t.equal(answer("?".repeat(4_000_000), "a", true, "b".repeat(64)), "unknown");
});

test("compares the parts of an ARN", async (t) => {
  const arn = (pattern: string, text: string, isPrefix = false): string => (
    matchesARN(wildcards(pattern), { text, isPrefix }).answer
  );
  t.same(
    ["arn:aws:iam::*:role/*", "arn:*:iam::111122223333:role/team/a?p"].map((one) => arn(one, ROLE)), ["yes", "yes"],
  );
  t.same([arn("arn:aws:iam::*:role/other", ROLE), arn("arn:aws:iam:*:role/team/app", ROLE)], ["no", "unknown"]);
  t.same(
    [arn("*", ROLE), arn(ROLE, "app"), arn(ROLE, "arn:aws:iam::111122223333:role/", true)], Array(3).fill("unknown"),
  );
  t.equal(arn("arn:aws:sns:*:*:a:b", "arn:aws:sns:eu:1:a:b"), "yes", "the last part contains colons");
});

test("is certain that a wildcard of Resource matches a colon only at the end of a part", async (t) => {
  const resource = (pattern: string): string => matchesResource(wildcards(pattern), ROLE).answer;
  t.same(["*", "**", ROLE, "arn:aws:iam::*:role/*"].map(resource), ["yes", "yes", "yes", "yes"]);
  t.same(["arn:aws:iam::1111*", "arn:aws:iam::*", "arn:*:role/team/app"].map(resource), ["yes", "yes", "yes"]);
  t.same(["arn:aws:iam::1*/app", "arn:aws:iam:?111122223333:role/*"].map(resource), ["unknown", "unknown"]);
  t.same(["arn:aws:s3:::*", "arn:aws:iam::2*"].map(resource), ["no", "no"]);
  t.same(["arn", "arn:aws", "arn:aws:iam::111122223333"].map(resource), ["unknown", "unknown", "unknown"]);
  t.same(["arnx", "aws:iam", "arn:aws:s3", "arn:aws:iam::111122223333:role"].map(resource), ["no", "no", "no", "no"]);
});

test("compares actions regardless of case, and texts code unit by code unit", async (t) => {
  t.ok(["sts:assume*", "*", "sts:assumerole"].every((one) => matchesAction(wildcards(one), "sts:AssumeRole")));
  t.notOk(["sts:assumerolewith*", "sts:tag*"].some((one) => matchesAction(wildcards(one), "sts:AssumeRole")));
  t.same([unitsOf("a*"), wildcards("a**?")], [[97, 42], [97, -1, -2]]);
});
