import { test } from "tap";
import { judgeSelector } from "../../../shared/ack/judge-selector.ts";
import { ROLE, selectorObject } from "../objects.ts";
import { selfLines } from "../core/findings.ts";
import { type Row, testRows } from "../rows.ts";

const PREFIX = "ack-role-resolver.io/";

/** Returns the lines of a check for a selector that selects namespace team-a and has one session annotation. */
const linesOf = (id: string, name: string, value: unknown, spec: object = {}): string[] => selfLines(id, selectorObject(
  "team-a", { arn: ROLE, namespaceSelector: { names: ["team-a"] }, ...spec },
  { annotations: { [`${PREFIX}${name}`]: value } },
));
const line = (start: string, name: string, text: string): string =>
  `${start} metadata.annotations[${PREFIX}${name}]: ${text}.`;
/** Returns a row for each value in which the check finds nothing. */
const allowed = (...values: readonly string[]): Row<string>[] => values.map((value) => [value.slice(0, 40), value]);

const unfilled = (message: string): string => line("deny IRS-45", "session-tags", `${message}. `
  + "Use {selector}, {account}, {group} or {namespace}; {kind} if resourceTypeSelector names exactly one kind");
const NO_NAMESPACE = line("warn IRS-45", "session-tags", "{namespace} has no value at /sts, so the sidecar rejects ACK "
  + "controllers that serve several namespaces. Write a selector for each namespace, with one entry in names, unless "
  + "all clients request /v1/credentials/namespaces/NS or use --scope-namespace");
const byLabel = { namespaceSelector: { labelSelector: { matchLabels: { a: "b" } } } };
const kinds = (...resourceTypeSelector: readonly object[]): object => ({ resourceTypeSelector });
const NO_KIND = unfilled("template {kind} has no value: spec.resourceTypeSelector does not name exactly one kind");
const noTemplate = (name: string, meant: string): string =>
  line("deny IRS-45", "session-tags", `template "${name}" does not exist. Write "${TEMPLATES.replace(name, meant)}"`);
const TEMPLATES = "a={acount},b={namspace}";

testRows("IRS-45: denies a template without a value, and warns about {namespace} in a shared selector", (
  [value, spec]: [string, object?],
) => linesOf("IRS-45", "session-tags", value, spec), [
  ["two namespaces", ["a={namespace}", { namespaceSelector: { names: ["a", "b"] } }], NO_NAMESPACE],
  ["no names; a repeated template is reported once", ["a={namespace},b=x-{namespace}", byLabel], NO_NAMESPACE],
  ["no namespace selector", ["a={namespace}", { namespaceSelector: undefined }], NO_NAMESPACE],
  ["one namespace", ["a={namespace}"]],
  ["no account in the ARN, which IRS-02 denies", ["a={account}", { arn: "nonsense" }]],
  ["no ARN, which IRS-01 denies", ["a={account}", { arn: undefined }]],
  ["templates that always have a value", ["a={selector}{account}{group}"]],
  ["one kind", ["a={kind}", kinds({ kind: "Bucket" })]],
  ["one kind of two versions",
    ["a={kind}", kinds({ kind: "Bucket", version: "v1" }, { group: "s3.services.k8s.aws", kind: "Bucket" })]],
  ["a kind with an apiVersion", ["a={kind}", kinds({ apiVersion: "s3.services.k8s.aws/v1", kind: "Bucket" })]],
  ["no entry", ["a={kind}", kinds()], NO_KIND],
  ["only a group", ["a={kind}", kinds({ group: "s3.services.k8s.aws" })], NO_KIND],
  ["two kinds", ["a={kind}", kinds({ kind: "Bucket" }, { kind: "Queue" })], NO_KIND],
  ["a kind and a version", ["a={kind}", kinds({ kind: "Bucket" }, { version: "v1" })], NO_KIND],
  ["misspelled templates", [TEMPLATES],
    noTemplate("{acount}", "{account}"), noTemplate("{namspace}", "{namespace}")],
  ["an unknown template", ["a={something-else}"], /"\{something-else\}" does not exist\. Use \{selector\}/],
  ["a property of Object", ["a={constructor}{}"],
    /template "\{constructor\}" does not exist/, /template "\{\}" does not exist/],
]);

const id = (what: string): string => line("deny IRS-42", "external-id",
  `the external ID ${what}. Use the external ID that the role's trust policy requires`);
const ID_CHARACTERS = id("contains characters other than letters, digits and _+=,.@:/-");

testRows("IRS-42: denies an external ID outside the limits of STS, and does not quote it", (value: unknown) =>
  linesOf("IRS-42", "external-id", value), [
  ["a space", "secret id", ID_CHARACTERS],
  ["one umlaut", "ü", id("has 1 character, not 2 to 1224"), ID_CHARACTERS],
  ["empty", "", id("has 0 characters, not 2 to 1224")],
  ["too long", "a".repeat(1225), id("has 1225 characters, not 2 to 1224")],
  ...allowed("ab", "a".repeat(1224), "Az09_+=,.@:/-"),
  ["IRS-00 reports a value that is not a string", 5],
]);

for (const [code, name, what] of [
  ["IRS-43", "session-name", "session name"], ["IRS-44", "source-identity", "source identity"],
] as const)
  testRows(`${code}: denies a ${what} outside the limits of STS`, (value: string) => linesOf(code, name, value), [
    ["a space", "team a", new RegExp(`^deny ${code} metadata\\.annotations\\[${PREFIX}${name}\\]: the ${what} "team a" `
      + "contains characters other than letters, digits and _\\+=,\\.@-\\. Write \"team-a\"\\.$")],
    ["blanks", " team-a ", /characters other .*\. Write "team-a"\.$/],
    ["too short", "a", new RegExp(`: the ${what} "a" has 1 character, not 2 to 64\\.`)],
    ["too long", "a".repeat(65), /has 65 characters, not 2 to 64\. Write "a{64}"\.$/],
    ...allowed("ab", "a".repeat(64), "Az09_+=,.@-"),
    ...(code === "IRS-43" ? [["no templates", "{nothing}", /contains characters other/] as const] : [[
      "reserved", "AWS:ack", /contains characters other/,
      /the source identity "AWS:ack" starts with aws:, which is reserved for AWS\. Write "ack"\.$/,
    ] as const]),
  ]);

const tags = (what: string): string => line("deny IRS-45", "session-tags",
  `${what}. Write KEY=VALUE,... with at most 50 distinct keys of 1 to 128 characters, and values of at most 256 `
    + `characters`);
const TAG_CHARACTERS = "contains characters other than letters, digits, spaces and _.:/=+-@";
const many = (count: number): string => Array.from({ length: count }, (_, i) => `k${i}=v`).join(",");

testRows("IRS-45: denies session tags outside the limits of STS", (value: string) =>
  linesOf("IRS-45", "session-tags", value), [
  ["no =", "team", tags('"team" is not KEY=VALUE')],
  ["empty", "", tags('"" is not KEY=VALUE')],
  ["an empty entry", "a=b,", tags('"" is not KEY=VALUE')],
  ["an empty key", "=b", tags('the key "" has 0 characters, not 1 to 128')],
  ["a long key", `${"k".repeat(129)}=b`, /has 129 characters, not 1 to 128/],
  ["a malformed key", "te;am=b", tags(`the key "te;am" ${TAG_CHARACTERS}`)],
  ["a reserved key", "AWS:team=b", tags('the key "AWS:team" starts with aws:, which is reserved for AWS')],
  ["a malformed value", "a=b;c", tags(`the value of "a" ${TAG_CHARACTERS}`)],
  ["half a template", "a={b", tags(`the value of "a" ${TAG_CHARACTERS}`)],
  ["a long value", `a=${"v".repeat(257)}`, tags('the value of "a" has 257 characters, not 0 to 256')],
  ["a repeated key", "team=a,Team=b,c=d", tags('the key "Team" is repeated; tag keys are not case-sensitive')],
  ["51 tags", many(51), tags("51 tags exceed the limit of 50 for a session")],
  ["a long value after the template is filled in", `a=${"v".repeat(251)}{selector}`, /the value of "a" has 257 char/],
  ["the longest filled-in value", `a=${"v".repeat(250)}{selector}`],
  ["the length of the groups is unknown", `a=${"v".repeat(256)}{group}`],
    ...allowed(many(50), "a=", " a = b , c=d ", "ключ=значение 1", `${"k".repeat(128)}=${"v".repeat(256)}`, "a=b=c"),
]);

const seconds = (text: string, severity = "deny"): string => line(`${severity} IRS-46`, "duration-seconds", text);
const RANGE = "Use a number of seconds from 900 to 43200, in quotes";
const CHAINED = "exceeds the 3600 s limit for chained sessions. Unless the sidecar runs with a long-lived access key, "
  + 'write "3600"';
const noSeconds = (text: string, fix: string): readonly [string, string, string] =>
  [`"${text}"`, text, seconds(`"${text}" is not a number of seconds. ${fix}`)];
const outside = (text: string, fix: string): readonly [string, string, string] =>
  [text, text, seconds(`"${text}" is outside the limits of 900 to 43200 s. ${fix}`)];

testRows("IRS-46: denies a duration outside the limits of STS, and warns above the limit for chained roles",
  (value: string) => linesOf("IRS-46", "duration-seconds", value), [
    ...["", "900.0", "-900", "0x400"].map((text) => noSeconds(text, RANGE)),
    noSeconds("1h", 'Write "3600"'), noSeconds("30 M", 'Write "1800"'), noSeconds(" 900", 'Write "900"'),
    noSeconds("1m", 'For the shortest session, write "900"'),
    ...["0", "899"].map((text) => outside(text, 'For the shortest session, write "900"')),
    ...["43201", "999999999"].map((text) => outside(text, 'For the longest session, write "43200"')),
    ...["3601", "43200"].map((text) => [text, text, seconds(`${text} s ${CHAINED}`, "warn")] as const),
    ...allowed("900", "3600"),
  ]);

test("IRS-46: a warning does not withhold the role", (t) => {
  const chained = selectorObject("team-a", { arn: ROLE }, { annotations: { [`${PREFIX}duration-seconds`]: "3601" } });
  const { effective } = judgeSelector(chained, { origin: "cluster", runtime: "extended" });
  t.equal(effective?.grantable, true);
  t.end();
});

const unknown = (key: string, fix: string): string =>
  line("warn IRS-47", key, `IAMRoleSelectors do not support this annotation. ${fix}`);
const meant = (key: string, name: string): string =>
  unknown(key, `Write [${PREFIX}${name}]`);

testRows("IRS-47: warns about an unknown annotation and suggests a similar one", (name: string) =>
  linesOf("IRS-47", name, "900"), [
  ["misspelled", "externalid", unknown("externalid",
    `Use ${PREFIX}external-id if that was meant, or remove the annotation`)],
  ["upper case", "Session-Name", meant("Session-Name", "session-name")],
  ["similar", "sesion-naem", meant("sesion-naem", "session-name")],
  ["not similar", "role-arn", unknown("role-arn", "Correct the key, or remove the annotation")],
  ...allowed("allow", "replaces", "external-id", "session-name", "source-identity", "session-tags", "duration-seconds"),
]);

test("IRS-47: denies what may be meant to limit the sessions", (t) => {
  const text = "IAMRoleSelectors do not support this annotation. Write";
  t.same(linesOf("IRS-47", "sessionScope", "service"), [
    line("deny IRS-47", "sessionScope", `${text} [${PREFIX}session-scope]`),
  ]);
  t.end();
});

test("IRS-47: replaces no annotation that exists", (t) => {
  const annotations = { [`${PREFIX}replaces`]: "a", [`${PREFIX}replace`]: "b" };
  t.match(selfLines("IRS-47", selectorObject("team-a", { arn: ROLE }, { annotations })), [/Use .* or remove the an/]);
  t.end();
});

test("IRS-47: ignores annotations of others", (t) => {
  const annotations = { "example.com/externalid": "x", externalid: "x" };
  t.same(selfLines("IRS-47", selectorObject("team-a", { arn: ROLE }, { annotations })), []);
  t.end();
});
