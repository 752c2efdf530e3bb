import { test } from "tap";
import { decodeSelector } from "../../../../../shared/model/selector.ts";
import { ROLE, selectorObject } from "../../objects.ts";
import { findingLines } from "../findings.ts";

const PREFIX = "ack-role-resolver.io/";
const TAGS = `metadata.annotations[${PREFIX}session-tags]`;

/** Returns the finding lines of a check for a selector that selects namespace team-a and has one session annotation. */
function linesOf(id: string, name: string, value: unknown, spec: object = {}): string[] {
  const object = selectorObject(
    "team-a",
    { arn: ROLE, namespaceSelector: { names: ["team-a"] }, ...spec },
    { annotations: { [`${PREFIX}${name}`]: value } },
  );
  return findingLines(id, object);
}

test("IRS-41: denies a template that has no value, and reports the reason", (t) => {
  const fix = "Use {selector}, {account} or {group}; {namespace} if names has exactly one entry; "
    + "{kind} if resourceTypeSelector names exactly one kind.";
  const namespace = `IRS-41 ${TAGS}: template {namespace} has no value: spec.namespaceSelector.names does not have `
    + `exactly one entry. ${fix}`;
  t.same(linesOf("IRS-41", "session-tags", "a={namespace}", { namespaceSelector: { names: ["a", "b"] } }), [namespace]);
  t.same(
    linesOf("IRS-41", "session-tags", "a={namespace},b=x-{namespace}", {
      namespaceSelector: { labelSelector: { matchLabels: { a: "b" } } },
    }),
    [namespace],
    "a repeated template is reported once",
  );
  t.same(linesOf("IRS-41", "session-tags", "a={namespace}", { namespaceSelector: undefined }), [namespace]);
  t.same(linesOf("IRS-41", "session-tags", "a={namespace}"), []);
  t.same(linesOf("IRS-41", "session-tags", "a={account}", { arn: "nonsense" }), [
    `IRS-41 ${TAGS}: template {account} has no value: spec.arn contains no account. ${fix}`,
  ]);
  t.same(linesOf("IRS-41", "session-tags", "a={account}", { arn: undefined }).length, 1);
  t.same(linesOf("IRS-41", "session-tags", "a={selector}{account}{group}"), []);
  t.end();
});

test("IRS-41: allows {kind} if every entry names the same kind", (t) => {
  const kinds = (...resourceTypeSelector: readonly object[]): number =>
    linesOf("IRS-41", "session-tags", "a={kind}", { resourceTypeSelector }).length;
  t.same(
    [
      kinds({ kind: "Bucket" }),
      kinds({ kind: "Bucket", version: "v1" }, { group: "s3.services.k8s.aws", kind: "Bucket" }),
      kinds({ apiVersion: "s3.services.k8s.aws/v1", kind: "Bucket" }),
    ],
    [0, 0, 0],
  );
  t.same(
    [
      kinds(),
      kinds({ group: "s3.services.k8s.aws" }),
      kinds({ kind: "Bucket" }, { kind: "Queue" }),
      kinds({ kind: "Bucket" }, { version: "v1" }),
    ],
    [1, 1, 1, 1],
  );
  t.end();
});

test("IRS-41: denies an unknown template and suggests a similar template", (t) => {
  t.same(linesOf("IRS-41", "session-tags", "a={acount}"), [
    `IRS-41 ${TAGS}: template "{acount}" does not exist. Use {account} if that was meant.`,
  ]);
  t.match(linesOf("IRS-41", "session-tags", "a={something-else}"), [
    /template "\{something-else\}" does not exist\. Use \{selector\}/,
  ]);
  t.match(linesOf("IRS-41", "session-tags", "a={constructor}{}"), [
    /template "\{constructor\}" does not exist/,
    /template "\{\}" does not exist/,
  ]);
  t.same(linesOf("IRS-41", "session-name", "{nothing}"), [], "session names have no templates");
  t.end();
});

test("IRS-42: denies an external ID outside the limits of STS, and does not quote the external ID", (t) => {
  const line = (what: string): string[] => [
    `IRS-42 metadata.annotations[${PREFIX}external-id]: the external ID ${what}. Use the external ID that the role's `
      + "trust policy requires.",
  ];
  t.same(
    linesOf("IRS-42", "external-id", "secret id"),
    line("contains characters other than letters, digits and _+=,.@:/-"),
  );
  t.same(linesOf("IRS-42", "external-id", "ü"), [
    ...line("has 1 character, not 2 to 1224"),
    ...line("contains characters other than letters, digits and _+=,.@:/-"),
  ]);
  t.same(linesOf("IRS-42", "external-id", ""), line("has 0 characters, not 2 to 1224"));
  t.same(linesOf("IRS-42", "external-id", "a".repeat(1225)), line("has 1225 characters, not 2 to 1224"));
  for (const good of ["ab", "a".repeat(1224), "Az09_+=,.@:/-"]) t.same(linesOf("IRS-42", "external-id", good), []);
  t.same(linesOf("IRS-42", "external-id", 5), [], "IRS-00 reports a value that is not a string");
  t.end();
});

test("IRS-43 and IRS-44: deny session names and source identities outside the limits of STS", (t) => {
  for (const [id, name, what] of [
    ["IRS-43", "session-name", "session name"],
    ["IRS-44", "source-identity", "source identity"],
  ] as const) {
    const path = `${id} metadata.annotations[${PREFIX}${name}]`;
    t.match(linesOf(id, name, "team a"), [
      `${path}: the ${what} "team a" contains characters other than letters, digits and _+=,.@-. Use 2 to 64`,
    ]);
    t.match(linesOf(id, name, "a"), [`${path}: the ${what} "a" has 1 character, not 2 to 64.`]);
    t.match(linesOf(id, name, "a".repeat(65)), [/has 65 characters, not 2 to 64/]);
    for (const good of ["ab", "a".repeat(64), "Az09_+=,.@-"]) t.same(linesOf(id, name, good), []);
  }
  t.match(linesOf("IRS-44", "source-identity", "AWS:ack"), [
    /contains characters other/,
    /the source identity starts with aws:, which is reserved for AWS/,
  ]);
  t.end();
});

test("IRS-45: denies session tags outside the limits of STS", (t) => {
  const fix = "Write KEY=VALUE,... with at most 50 distinct keys of 1 to 128 characters, "
    + "and values of at most 256 characters.";
  const line = (what: string): string[] => [`IRS-45 ${TAGS}: ${what}. ${fix}`];
  t.same(linesOf("IRS-45", "session-tags", "team"), line('"team" is not KEY=VALUE'));
  t.same(linesOf("IRS-45", "session-tags", ""), line('"" is not KEY=VALUE'));
  t.same(linesOf("IRS-45", "session-tags", "a=b,"), line('"" is not KEY=VALUE'));
  t.same(linesOf("IRS-45", "session-tags", "=b"), line('the key "" has 0 characters, not 1 to 128'));
  t.match(linesOf("IRS-45", "session-tags", `${"k".repeat(129)}=b`), [/has 129 characters, not 1 to 128/]);
  t.same(
    linesOf("IRS-45", "session-tags", "te;am=b"),
    line('the key "te;am" contains characters other than letters, digits, spaces and _.:/=+-@'),
  );
  t.same(
    linesOf("IRS-45", "session-tags", "AWS:team=b"),
    line('the key "AWS:team" starts with aws:, which is reserved for AWS'),
  );
  t.same(
    linesOf("IRS-45", "session-tags", "a=b;c"),
    line('the value of "a" contains characters other than letters, digits, spaces and _.:/=+-@'),
  );
  t.same(
    linesOf("IRS-45", "session-tags", "a={b"),
    line('the value of "a" contains characters other than letters, digits, spaces and _.:/=+-@'),
  );
  t.same(
    linesOf("IRS-45", "session-tags", `a=${"v".repeat(257)}`),
    line('the value of "a" has 257 characters, not 0 to 256'),
  );
  t.same(
    linesOf("IRS-45", "session-tags", "team=a,Team=b,c=d"),
    line('the key "Team" is repeated; tag keys are not case-sensitive'),
  );
  const many = (count: number): string => Array.from({ length: count }, (_, i) => `k${i}=v`).join(",");
  t.same(linesOf("IRS-45", "session-tags", many(51)), line("51 tags exceed the limit of 50 for a session"));
  for (const good of [
    many(50),
    "a=",
    " a = b , c=d ",
    "ключ=значение 1",
    `${"k".repeat(128)}=${"v".repeat(256)}`,
    "a=b=c",
    "a={group}",
  ])
    t.same(linesOf("IRS-45", "session-tags", good), [], good);
  t.end();
});

test("IRS-45: limits the length of a tag value after the templates are filled in", (t) => {
  t.match(linesOf("IRS-45", "session-tags", `a=${"v".repeat(251)}{selector}`), [/the value of "a" has 257 characters/]);
  t.same(linesOf("IRS-45", "session-tags", `a=${"v".repeat(250)}{selector}`), []);
  t.same(linesOf("IRS-45", "session-tags", `a=${"v".repeat(256)}{group}`), [], "the length of the groups is unknown");
  t.end();
});

test("IRS-46 denies a duration outside the limits of STS, and warns above the limit for chained roles", (t) => {
  const path = `metadata.annotations[${PREFIX}duration-seconds]`;
  const fix = "Use a number of seconds from 900 to 43200, in quotes.";
  for (const text of ["", "1h", "900.0", "-900", "0x400", " 900"])
    t.same(linesOf("IRS-46", "duration-seconds", text), [
      `IRS-46 ${path}: "${text}" is not a number of seconds. ${fix}`,
    ]);
  for (const text of ["0", "899", "43201", "999999999"])
    t.same(linesOf("IRS-46", "duration-seconds", text), [
      `IRS-46 ${path}: ${text} s is outside the limits of 900 to 43200 s. ${fix}`,
    ]);
  for (const text of ["900", "3600"]) t.same(linesOf("IRS-46", "duration-seconds", text), []);
  const warned = (seconds: number): string =>
    `IRS-46 ${path}: ${seconds} s exceeds the 3600 s limit for chained sessions. `
    + "Use at most 3600, unless the sidecar runs with a long-lived access key.";
  for (const seconds of [3601, 43_200]) {
    t.same(linesOf("IRS-46", "duration-seconds", String(seconds)), [warned(seconds)]);
  }
  const chained = selectorObject("team-a", { arn: ROLE }, { annotations: { [`${PREFIX}duration-seconds`]: "3601" } });
  const { effective } = decodeSelector(chained, { origin: "cluster", runtime: "extended" });
  t.equal(effective?.grantable, true, "a warning does not withhold the role");
  t.end();
});

test("IRS-47: warns about an unknown ack-role-resolver.io annotation and suggests a similar annotation", (t) => {
  const line = (key: string, fix: string): string[] => [
    `IRS-47 metadata.annotations[${PREFIX}${key}]: IAMRoleSelectors do not support this annotation. ${fix}.`,
  ];
  const meant = (name: string): string => `Use ${PREFIX}${name} if that was meant, or remove the annotation`;
  t.same(linesOf("IRS-47", "externalid", "x"), line("externalid", meant("external-id")));
  t.same(linesOf("IRS-47", "Session-Tags", "x"), line("Session-Tags", meant("session-tags")));
  t.same(linesOf("IRS-47", "role-arn", "x"), line("role-arn", "Correct the key, or remove the annotation"));
  for (const known of [
    "allow",
    "replaces",
    "external-id",
    "session-name",
    "source-identity",
    "session-tags",
    "duration-seconds",
  ])
    t.same(linesOf("IRS-47", known, "x"), [], known);
  t.same(
    findingLines(
      "IRS-47",
      selectorObject("team-a", { arn: ROLE }, { annotations: { "example.com/externalid": "x", externalid: "x" } }),
    ),
    [],
  );
  t.end();
});
