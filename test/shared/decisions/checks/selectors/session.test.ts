import { test } from "tap";
import { ROLE, selectorObject } from "../../objects.ts";
import { lines } from "../findings.ts";

const OURS = "ack-role-resolver.io/";
const TAGS = `metadata.annotations[${OURS}session-tags]`;

/** What a check says of a selector of namespace team-a with one annotation of ours. */
function said(id: string, name: string, value: unknown, spec: object = {}): string[] {
  const object = selectorObject("team-a", { arn: ROLE, namespaceSelector: { names: ["team-a"] }, ...spec }, { annotations: { [`${OURS}${name}`]: value } });
  return lines(id, object);
}

test("IRS-41: a template that cannot be filled in is told with what it would need", (t) => {
  const fix = "Use {selector}, {account} or {group}; {namespace} where names has exactly one entry, {kind} where resourceTypeSelector names one kind.";
  const namespace = `IRS-41 ${TAGS}: {namespace} cannot be filled in: spec.namespaceSelector.names does not name exactly one namespace. ${fix}`;
  t.same(said("IRS-41", "session-tags", "a={namespace}", { namespaceSelector: { names: ["a", "b"] } }), [namespace]);
  t.same(said("IRS-41", "session-tags", "a={namespace},b=x-{namespace}", { namespaceSelector: { labelSelector: { matchLabels: { a: "b" } } } }), [namespace], "once");
  t.same(said("IRS-41", "session-tags", "a={namespace}", { namespaceSelector: undefined }), [namespace]);
  t.same(said("IRS-41", "session-tags", "a={namespace}"), []);
  t.same(said("IRS-41", "session-tags", "a={account}", { arn: "nonsense" }), [`IRS-41 ${TAGS}: {account} cannot be filled in: spec.arn names no account. ${fix}`]);
  t.same(said("IRS-41", "session-tags", "a={account}", { arn: undefined }).length, 1);
  t.same(said("IRS-41", "session-tags", "a={selector}{account}{group}"), []);
  t.end();
});

test("IRS-41: a kind is one where every entry names that one", (t) => {
  const kinds = (...resourceTypeSelector: readonly object[]): number => said("IRS-41", "session-tags", "a={kind}", { resourceTypeSelector }).length;
  t.same([kinds({ kind: "Bucket" }), kinds({ kind: "Bucket", version: "v1" }, { group: "s3.services.k8s.aws", kind: "Bucket" }), kinds({ apiVersion: "s3.services.k8s.aws/v1", kind: "Bucket" })], [0, 0, 0]);
  t.same([kinds(), kinds({ group: "s3.services.k8s.aws" }), kinds({ kind: "Bucket" }, { kind: "Queue" }), kinds({ kind: "Bucket" }, { version: "v1" })], [1, 1, 1, 1]);
  t.end();
});

test("IRS-41: of a name that is no template's the one that was probably meant is told", (t) => {
  t.same(said("IRS-41", "session-tags", "a={acount}"), [`IRS-41 ${TAGS}: there is no template "{acount}". Write {account}, if that was meant.`]);
  t.match(said("IRS-41", "session-tags", "a={something-else}"), [/there is no template "\{something-else\}"\. Use \{selector\}/]);
  t.match(said("IRS-41", "session-tags", "a={constructor}{}"), [/there is no template "\{constructor\}"/, /there is no template "\{\}"/]);
  t.same(said("IRS-41", "session-name", "{nothing}"), [], "which takes none");
  t.end();
});

test("IRS-42: an external ID outside STS's limits is told without the ID itself", (t) => {
  const line = (what: string): string[] => [`IRS-42 metadata.annotations[${OURS}external-id]: the external ID ${what}. Write the external ID that the role's trust policy asks for.`];
  t.same(said("IRS-42", "external-id", "secret id"), line("has other characters than letters, digits and _+=,.@:/-"));
  t.same(said("IRS-42", "external-id", "ü"), [...line("has 1 character, not 2 to 1224"), ...line("has other characters than letters, digits and _+=,.@:/-")]);
  t.same(said("IRS-42", "external-id", ""), line("has 0 characters, not 2 to 1224"));
  t.same(said("IRS-42", "external-id", "a".repeat(1225)), line("has 1225 characters, not 2 to 1224"));
  for (const good of ["ab", "a".repeat(1224), "Az09_+=,.@:/-"]) t.same(said("IRS-42", "external-id", good), []);
  t.same(said("IRS-42", "external-id", 5), [], "IRS-00 tells that it is no text");
  t.end();
});

test("IRS-43 and IRS-44: names of sessions and of their source keep STS's limits", (t) => {
  for (const [id, name, what] of [["IRS-43", "session-name", "session name"], ["IRS-44", "source-identity", "source identity"]] as const) {
    const path = `${id} metadata.annotations[${OURS}${name}]`;
    t.match(said(id, name, "team a"), [`${path}: the ${what} "team a" has other characters than letters, digits and _+=,.@-. Write 2 to 64`]);
    t.match(said(id, name, "a"), [`${path}: the ${what} "a" has 1 character, not 2 to 64.`]);
    t.match(said(id, name, "a".repeat(65)), [/has 65 characters, not 2 to 64/]);
    for (const good of ["ab", "a".repeat(64), "Az09_+=,.@-"]) t.same(said(id, name, good), []);
  }
  t.match(said("IRS-44", "source-identity", "AWS:ack"), [/has other characters/, /the source identity starts with aws:, which is kept for AWS/]);
  t.end();
});

test("IRS-45: session tags keep STS's limits", (t) => {
  const fix = "Write KEY=VALUE,... with at most 50 different keys of 1 to 128 characters, and values of at most 256.";
  const line = (what: string): string[] => [`IRS-45 ${TAGS}: ${what}. ${fix}`];
  t.same(said("IRS-45", "session-tags", "team"), line('"team" is not KEY=VALUE'));
  t.same(said("IRS-45", "session-tags", ""), line('"" is not KEY=VALUE'));
  t.same(said("IRS-45", "session-tags", "a=b,"), line('"" is not KEY=VALUE'));
  t.same(said("IRS-45", "session-tags", "=b"), line('the key "" has 0 characters, not 1 to 128'));
  t.match(said("IRS-45", "session-tags", `${"k".repeat(129)}=b`), [/has 129 characters, not 1 to 128/]);
  t.same(said("IRS-45", "session-tags", "te;am=b"), line('the key "te;am" has other characters than letters, digits, spaces and _.:/=+-@'));
  t.same(said("IRS-45", "session-tags", "AWS:team=b"), line('the key "AWS:team" starts with aws:, which is kept for AWS'));
  t.same(said("IRS-45", "session-tags", "a=b;c"), line('the value of "a" has other characters than letters, digits, spaces and _.:/=+-@'));
  t.same(said("IRS-45", "session-tags", "a={b"), line('the value of "a" has other characters than letters, digits, spaces and _.:/=+-@'));
  t.same(said("IRS-45", "session-tags", `a=${"v".repeat(257)}`), line('the value of "a" has 257 characters, not 0 to 256'));
  t.same(said("IRS-45", "session-tags", "team=a,Team=b,c=d"), line('the key "Team" stands there before, and keys that differ in case alone are the same'));
  const many = (count: number): string => Array.from({ length: count }, (_, i) => `k${i}=v`).join(",");
  t.same(said("IRS-45", "session-tags", many(51)), line("there are 51 tags, and a session has at most 50"));
  for (const good of [many(50), "a=", " a = b , c=d ", "ключ=значение 1", `${"k".repeat(128)}=${"v".repeat(256)}`, "a=b=c", "a={group}"]) t.same(said("IRS-45", "session-tags", good), [], good);
  t.end();
});

test("IRS-45: the length that counts is that of the value with its templates filled in", (t) => {
  t.match(said("IRS-45", "session-tags", `a=${"v".repeat(251)}{selector}`), [/the value of "a" has 257 characters/]);
  t.same(said("IRS-45", "session-tags", `a=${"v".repeat(250)}{selector}`), []);
  t.same(said("IRS-45", "session-tags", `a=${"v".repeat(256)}{group}`), [], "how long the groups are nobody knows here");
  t.end();
});

test("IRS-46 denies a duration that no session can have, IRS-46b warns of one that a chained session cannot", (t) => {
  const path = `metadata.annotations[${OURS}duration-seconds]`;
  const fix = "Write a number of seconds from 900 to 43200, in quotes.";
  for (const text of ["", "1h", "900.0", "-900", "0x400", " 900"]) t.same(said("IRS-46", "duration-seconds", text), [`IRS-46 ${path}: "${text}" is not a number of seconds. ${fix}`]);
  for (const text of ["0", "899", "43201", "999999999"]) t.same(said("IRS-46", "duration-seconds", text), [`IRS-46 ${path}: ${text} s is not within 900 to 43200 s. ${fix}`]);
  for (const text of ["900", "3600", "43200"]) t.same(said("IRS-46", "duration-seconds", text), []);
  const warned = (seconds: number): string => `IRS-46b ${path}: ${seconds} s is more than the 3600 s that a session which is made from another one may last. `
    + "Write at most 3600, unless the sidecar runs with a long-lived key.";
  t.same(said("IRS-46b", "duration-seconds", "3601"), [warned(3601)]);
  t.same(said("IRS-46b", "duration-seconds", "43200"), [warned(43_200)]);
  for (const text of ["900", "3600", "43201", "1h"]) t.same(said("IRS-46b", "duration-seconds", text), []);
  t.same(lines("IRS-46b", selectorObject("team-a", { arn: ROLE })), []);
  t.end();
});

test("IRS-47: an annotation of ours that nothing reads is told, with what was probably meant", (t) => {
  const line = (key: string, fix: string): string[] => [`IRS-47 metadata.annotations[${OURS}${key}]: nothing reads such an annotation of an IAMRoleSelector. ${fix}.`];
  const meant = (name: string): string => `Write ${OURS}${name}, if that was meant, or leave it out`;
  t.same(said("IRS-47", "externalid", "x"), line("externalid", meant("external-id")));
  t.same(said("IRS-47", "Session-Tags", "x"), line("Session-Tags", meant("session-tags")));
  t.same(said("IRS-47", "role-arn", "x"), line("role-arn", "Correct its key, or leave it out"));
  for (const known of ["allow", "replaces", "external-id", "session-name", "source-identity", "session-tags", "duration-seconds"]) t.same(said("IRS-47", known, "x"), [], known);
  t.same(lines("IRS-47", selectorObject("team-a", { arn: ROLE }, { annotations: { "example.com/externalid": "x", externalid: "x" } })), []);
  t.end();
});
