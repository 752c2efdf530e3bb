import process from "node:process";
import { test } from "tap";
import { compareFindings, type Finding } from "../../../shared/core/check.ts";
import { formatFieldPath, plainKeys } from "../../../shared/formats/json.ts";
import { countOf, printable, quote, startOfText, withoutCommands,  } from "../../../shared/formats/text.ts";
import { collectGarbage } from "../../collect-garbage.ts";

test("escapes control characters, line breaks and bidirectional marks in quoted values", (t) => {
  t.equal(quote('a "b" \\'), '"a \\"b\\" \\\\"');
  t.equal(
    quote("\u001b[31m\n\u007f\u009b\u0085\u2028\u202e\u2066"),
    '"\\u001b[31m\\n\\u007f\\u009b\\u0085\\u2028\\u202e\\u2066"',
  );
  t.equal(quote("Māori 😀"), '"Māori 😀"');
  t.equal(quote("a\u200bb\ufeff\u{e0041}"), '"a\\u200bb\\ufeff\\udb40\\udc41"');
  t.equal(quote("\ud83d"), '"\\ud83d"');
  t.equal(printable("a\tb\ud83d"), "a\\u0009b\ufffd");
  t.end();
});

test("truncates quoted values after 200 characters and appends their length", (t) => {
  t.equal(quote("x".repeat(200)), `"${"x".repeat(200)}"`);
  t.equal(quote("x".repeat(201)), `"${"x".repeat(200)}"… (201 characters)`);
  t.equal(quote(`${"x".repeat(199)}😀`), `"${"x".repeat(199)}\\ud83d"… (201 characters)`);
  t.end();
});

test("formats field paths as Kubernetes does", (t) => {
  const path = ["spec", "namespaceSelector", "labelSelector", "matchLabels", { key: "example.com/team" }] as const;
  t.equal(formatFieldPath(path), "spec.namespaceSelector.labelSelector.matchLabels[example.com/team]");
  t.equal(formatFieldPath(["spec", "resourceTypeSelector", 0, "kind"]), "spec.resourceTypeSelector[0].kind");
  t.equal(formatFieldPath([]), "");
  t.equal(formatFieldPath(["spec", { key: "\u001b" }]), "spec[\\u001b]");
  const key = "a".repeat(317);
  t.equal(formatFieldPath([key, { key: `${key}a` }, `${key}a`]), `${key}[${key}…].${key}…`);
  t.same(plainKeys([...path, 3]), ["spec", "namespaceSelector", "labelSelector", "matchLabels", "example.com/team", 3]);
  t.end();
});

test("sorts findings by code and path, regardless of the locale", (t) => {
  const finding = (code: string, ...path: Finding["path"]): Finding => ({
    code,
    path,
    severity: "warn",
    message: "",
    fix: "",
    waivable: false,
    waived: false,
  });
  const sorted = [
    finding("IRS-08", "b"),
    finding("IRS-08", "B"),
    finding("IRS-01", "z"),
    finding("IRS-08", "B"),
    finding("IRS-15b", "a"),
    finding("IRS-15", "a"),
  ].toSorted(compareFindings);
  t.same(
    sorted.map(({ code, path }) => `${code} ${formatFieldPath(path)}`),
    ["IRS-01 z", "IRS-08 B", "IRS-08 B", "IRS-08 b", "IRS-15 a", "IRS-15b a"],
  );
  t.end();
});

test("counts in the singular or plural of a noun, and states a limit at which the count stopped", (t) => {
  t.equal(countOf(1, "resource"), "1 resource");
  t.equal(countOf(0, "resource"), "0 resources");
  t.equal(countOf(1, "other identity"), "1 other identity");
  t.equal(countOf(2, "other identity"), "2 other identities");
  t.equal(countOf(20, "identity", 20), "at least 20 identities");
  t.equal(countOf(2, "key"), "2 keys");
  t.end();
});

test("copies the start of a longer text, also half a surrogate pair", async (t) => {
  t.equal(startOfText("short", 5), "short");
  t.equal(startOfText("longer", 5), "longe");
  t.equal(startOfText("a\u{1f600}b", 2), "a\ud83d");
  await collectGarbage();
  const before = process.memoryUsage().heapUsed;
  const starts = Array.from({ length: 20 }, (_, i) => startOfText(JSON.stringify("x".repeat(5_000_000 + i)), 1_000));
  await collectGarbage();
  t.ok(process.memoryUsage().heapUsed - before < 20_000_000, "the long texts are freed");
  t.equal(starts.length, 20);
});

test("escapes commands to CI runners anywhere in a line, and no other text", (t) => {
  const commands: readonly (readonly [output: string, escaped: string])[] = [
    ["a ##[stop-commands]b", "a #\\u0023[stop-commands]b"], ["####[x]", "###\\u0023[x]"],
    ["##VSO[a]", "#\\u0023VSO[a]"],
    ["a::error::b", "a:\\u003aerror::b"], [" ::set-env name=a,b=c::d", " :\\u003aset-env name=a,b=c::d"],
    [":::error::", "::\\u003aerror::"], ["::error::a::error::b", ":\\u003aerror:\\u003aa:\\u003aerror::b"],
  ];
  for (const [output, escaped] of commands) {
    t.equal(withoutCommands(output), escaped);
    t.equal(withoutCommands(escaped), escaped, "an escaped text has no command");
    t.equal(JSON.parse(withoutCommands(JSON.stringify(output))), output);
  }
  const others = [
    "arn:aws:iam::111122223333:role/a", "arn:aws:iam::aws:policy/A and arn:aws:iam::aws:policy/B", "## a [b]", "#[a]",
    "::1", "[::1]:9780", "a::b", "::error", "::error\n::", "https://a/#a",
  ];
  for (const output of others) t.equal(withoutCommands(output), output);
  t.end();
});

test("escapes hostile outputs in a time that grows with their length only", (t) => {
  for (const part of ["##", "##a", "::a ", "::", ": :a", "::a-"]) {
    const output = part.repeat(500_000);
    t.equal(withoutCommands(output).replaceAll(/\\u00../g, ".").length, output.length, part);
  }
  t.end();
});
