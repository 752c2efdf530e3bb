import { ALL_CLOSED } from "../../../shared/core/closures.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { accountLines, type Circumstances } from "../core/findings.ts";
import { newBucket, roleIn, SECOND, selectorFor, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { testRows } from "../rows.ts";

type Input = readonly [
  before: JsonObject | null, after: JsonObject, known: readonly JsonObject[], rest?: Circumstances,
];
const lines = ([before, after, known, rest]: Input): string[] => (
  accountLines("IRS-57", after, { known: [...(before === null ? [] : [before]), ...known], old: before, ...rest })
);

function limited(annotations: Readonly<Record<string, string>>): JsonObject {
  return limitedOf("team-a", annotations);
}

function limitedOf(name: string, annotations: Readonly<Record<string, string>>): JsonObject {
  const keyed = Object.entries(annotations).map(([key, value]) => [`ack-role-resolver.io/${key}`, value] as const);
  const metadata = { name, annotations: Object.fromEntries<string>(keyed) };
  return { ...selectorFor(name, SECOND, ["team-a"]), metadata };
}

function templated(names: readonly string[]): JsonObject {
  const policy = JSON.stringify({ Statement: { Effect: "Allow", Action: "*", Resource: "arn:aws:s3:::{namespace}" } });
  return { ...limited({ "session-policy": policy }), spec: { arn: roleIn(SECOND), namespaceSelector: { names } } };
}

const BUCKET = [newBucket("b1")];
const S3 = { "session-policy-arns": "arn:aws:iam::aws:policy/AmazonS3FullAccess" };
const SCOPED = [...BUCKET, limitedOf("old", { "session-scope": "service" })];
const REPLACED = [...BUCKET, limitedOf("old", S3)];
const STRICT: Circumstances = { settings: { injection: { ...SETTINGS_BY_DEFAULT.injection, closures: ALL_CLOSED } } };

testRows("IRS-57 denies wider sessions of a selector that is in use", lines, [
  ["the policies are removed", [limited(S3), limited({}), BUCKET], "deny IRS-57 metadata.annotations: the sessions of "
    + "selected resources could do more (no session policy is left). Set "
    + "metadata.annotations[ack-role-resolver.io/session-policy-arns] to "
    + "\"arn:aws:iam::aws:policy/AmazonS3FullAccess\"; or, if the sessions must do more, set the annotation "
    + "ack-role-resolver.io/allow: IRS-57 as a user of --waiver-users."],
  ["nothing is selected", [limited(S3), limited({}), []]],
  ["narrower", [limited({}), limited(S3), BUCKET]],
  ["the scope", [limited({ "session-scope": "service" }), limited({ "session-scope": "none" }), BUCKET],
    /more \(the session scope ends\)\. Set /],
  ["two changes", [limited({ ...S3, "session-scope": "service" }), limited({}), BUCKET],
    /ends, and no session policy is left\)\. Set .* and set/],
  ["a waiver", [limited(S3), limited({ allow: "IRS-57" }), BUCKET], /^warn \(waived\) IRS-57 /],
  ["a replacement with wider sessions", [null, limitedOf("new", { replaces: "old" }), REPLACED],
    /\(no session policy is left\) than with IAMRoleSelector old, which this one replaces\. Set /],
  ["a replacement of one with a scope", [null, limitedOf("new", { replaces: "old" }), SCOPED],
    /\(the session scope ends\) than with IAMRoleSelector old/],
  ["a replacement with the same ones", [null, limitedOf("new", { ...S3, replaces: "old" }), REPLACED]],
  ["more namespaces for a policy with a template", [templated(["team-a"]), templated(["team-a", "team-b"]), BUCKET]],
  ["in mode carm", [limited(S3), limited({}), BUCKET, { settings: { mode: "carm" } }]],
  ["the scope is the default", [limited({ "session-scope": "service" }), limited({}), BUCKET, STRICT]],
  ["an exception from the default", [limited({}), limited({ "session-scope": "none" }), BUCKET, STRICT], /scope ends/],
]);
