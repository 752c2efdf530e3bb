import { CATALOGUE } from "../../shared/judges.ts";
import { array, assert, property, string, stringMatching } from "fast-check";
import { test } from "tap";
import type { Finding } from "../../shared/core/check.ts";
import { findingWarnings, warningLine, warningLines } from "../../webhook/respond.ts";
import { fixture, objectAt, reviewOf } from "./reviews.ts";
import { webhookUnderTest } from "./webhook-under-test.ts";

const CONTROL = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

function warn(code: string, more: Partial<Finding> = {}): Finding {
  return { code, severity: "warn", path: ["spec"], message: "m", fix: "f", waivable: false, waived: false, ...more };
}

test("truncates a warning to 120 characters and appends an ellipsis", (t) => {
  t.equal(warningLine("x".repeat(120)), "x".repeat(120));
  t.equal(warningLine("x".repeat(121)), `${"x".repeat(119)}…`);
  t.equal(warningLine("😀".repeat(121)), `${"😀".repeat(59)}…`, "and splits no surrogate pair");
  t.end();
});

test("truncates a warning after a complete word", (t) => {
  const names = "Conflicting IAMRoleSelectors: [";
  const fill = "x ".repeat(20);
  t.equal(warningLine(`${fill}${names}${"a".repeat(100)}, b]`), `${fill}Conflicting IAMRoleSelectors:…`);
  t.equal(warningLine(`${fill}${names}a, ${"b".repeat(100)}]`), `${fill}Conflicting IAMRoleSelectors: [a…`);
  t.equal(warningLine(`${"x".repeat(119)} next`), `${"x".repeat(119)}…`, "a word that fits is complete");
  t.equal(warningLine(`y ${"x".repeat(117)}z next`), `y ${"x".repeat(117)}…`, "a word that fills half of the line");
  t.end();
});

test("continues a long text in a second warning, and truncates only that one", (t) => {
  const words = (count: number): string => Array.from({ length: count }, (_, i) => `word${i + 10}`).join(" ");
  t.same(warningLines("ACK-03", "short"), ["ACK-03 short"]);
  const lines = warningLines("ACK-03", words(25));
  t.equal(lines.length, 2);
  t.equal(lines.map((line) => line.replace(/^ACK-03 (… )?/, "")).join(" "), words(25), "nothing is lost");
  for (const line of lines) t.ok(line.length <= 120 && line.startsWith("ACK-03 "));
  t.match(warningLines("ACK-03", words(60)), [/^ACK-03 word10 .*[0-9]$/, /^ACK-03 … word.*[0-9]…$/]);
  t.same(warningLines("A", "x".repeat(130)), [`A ${"x".repeat(118)}`, `A … ${"x".repeat(12)}`]);
  t.end();
});

test("the message and the fix of a warning are complete if each has at most 200 characters", (t) => {
  assert(property(array(stringMatching(/^[a-z"]{1,30}$/), { minLength: 1, maxLength: 40 }), (words) => {
    const message = words.join(" ").slice(0, 180).trim();
    const shown = findingWarnings([warn("IRS-18", { message, fix: `${message} fix` })])
      .map((line) => line.replace(/^IRS-18 (… |fix: )?/, "")).join(" ");
    return shown.startsWith(`spec: ${message}`) && !shown.includes("…");
  }));
  t.pass("1 property");
  t.end();
});

test("omits the path of a warning about the whole object", (t) => {
  t.same(findingWarnings([warn("ACK-03", { path: ["metadata"] })]), ["ACK-03 m. F."]);
  t.same(findingWarnings([warn("ACK-03", { path: ["metadata", "labels"], waived: true })]), [
    "ACK-03 (waived) metadata.labels: m. F.",
  ]);
  t.end();
});

test("returns the fix as a second warning if the finding is too long for one", (t) => {
  const [message, fix] = ["m".repeat(100), "f".repeat(100)];
  t.same(findingWarnings([warn("CI-08", { message, fix }), warn("CI-08", { message, fix, path: ["a"] })]), [
    `CI-08 spec: ${message}`, `CI-08 fix: ${fix}`, `CI-08 a: ${message}`,
  ], "the fix is returned once");
  t.same(findingWarnings([warn("CI-08", { message, fix, path: ["metadata"], waived: true })]),
    [`CI-08 (waived) ${message}`, `CI-08 (waived) fix: ${fix}`]);
  const longest = "m".repeat(104);
  t.same(findingWarnings([warn("CI-08", { message: longest })]), [`CI-08 spec: ${longest}. F.`], "120 characters");
  t.end();
});

test("states the key of an annotation instead of its path, and no empty path", (t) => {
  const path = ["metadata", "annotations", { key: "services.k8s.aws/region" }];
  t.same(findingWarnings([warn("NS-10", { path })]), ["NS-10 services.k8s.aws/region: m. F."]);
  t.same(findingWarnings([warn("CI-31", { path: [] })]), ["CI-31 m. F."]);
  t.end();
});

test("the fix of each check that warns by default fits in one warning", (t) => {
  const checks = CATALOGUE.filter(({ id, severity }) => severity === "warn" && !id.startsWith("AUD-"));
  t.ok(checks.length > 30);
  const long = checks.filter(({ id, fix }) => `${id} fix: ${fix}`.length > 120);
  t.same(long.map(({ id, fix }) => `${id} ${fix}`), []);
  t.end();
});

test("replaces control and format characters in a warning with spaces", (t) => {
  t.equal(warningLine("a\r\nb\tc\u001B[31md\u202Ee\u2028f\uD800g\u0000"), "a b c [31md e f g ");
  t.end();
});

test("converts any text to one printable line of at most 120 characters", (t) => {
  assert(property(string({ unit: "binary", maxLength: 300 }), (text) => {
    const line = warningLine(text);
    return Array.from(line).length <= 120 && !CONTROL.test(line);
  }));
  t.pass("1 property");
  t.end();
});

test("returns five warnings: denying checks first, waived findings last, and a count of the rest", (t) => {
  const findings = [
    warn("IRS-00", { severity: "deny" }),
    warn("IRS-02", { waived: true }),
    warn("IRS-08"),
    warn("IRS-15b"),
    warn("IRS-12"),
    warn("IRS-15b", { path: ["a"] }),
    warn("IRS-35"),
  ];
  t.same(findingWarnings(findings), [
    "IRS-08 spec: m. F.", "IRS-12 spec: m. F.", "IRS-35 spec: m. F.", "IRS-15b spec: m. F.", "IRS-15b a: m. F.",
    "and 1 more; run ack-role-resolver lint to list all findings",
  ]);
  t.same(findingWarnings(findings.slice(0, 6)), [
    "IRS-08 spec: m. F.",
    "IRS-12 spec: m. F.",
    "IRS-15b spec: m. F.",
    "IRS-15b a: m. F.",
    "IRS-02 (waived) spec: m. F.",
  ]);
  t.same(findingWarnings([warn("IRS-00", { severity: "deny" })]), [], "a denial is not a warning");
  t.end();
});

test("returns short printable warnings if a stored object has names with control characters", async (t) => {
  const webhook = webhookUnderTest();
  const injected = "x\nWarning: all is well";
  const hostile = [injected, "\u202Eevil", "y".repeat(5000), "\u001B[2J", injected, "a b", "__proto__"];
  const object = {
    ...objectAt(fixture("selector-create"), "request", "object"),
    spec: { arn: "arn:aws:iam::111122223333:role/a", namespaceSelector: { names: hostile } },
  };
  const oldObject = { ...object, metadata: { labels: {} } };
  const review = reviewOf(object, { operation: "UPDATE", oldObject });
  const { json } = await webhook.post("/validate/iamroleselectors", review);
  const { allowed, warnings } = objectAt(json, "response");
  t.equal(allowed, true);
  const lines = Array.isArray(warnings) ? warnings.map(String) : [];
  // Five findings and the two fixes that their checks share, each in at most two warnings, and the number of the rest.
  t.ok(lines.length > 8 && lines.length <= 15, `${lines.length}`);
  for (const line of lines.slice(0, -1)) {
    t.match(line, /^IRS-0\d (…|(fix|spec\.namespaceSelector\.names\[\d\]):) /);
    t.ok(Array.from(line).length <= 120);
    t.notMatch(line, CONTROL);
  }
  t.match(lines.at(-1), /^and \d+ more; run ack-role-resolver lint to list all findings$/);
});
