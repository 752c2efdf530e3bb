import { ALL_CLOSED } from "../../../shared/core/closures.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { accountLines, type Circumstances } from "../core/findings.ts";
import { newBucket, SECOND, selectorFor, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { testRows } from "../rows.ts";

type Input = readonly [before: JsonObject, after: JsonObject, known: readonly JsonObject[], rest?: Circumstances];
const lines = ([before, after, known, rest]: Input): string[] => (
  accountLines("IRS-57", after, { known: [before, ...known], old: before, ...rest })
);

function limited(annotations: Readonly<Record<string, string>>): JsonObject {
  const keyed = Object.entries(annotations).map(([name, value]) => [`ack-role-resolver.io/${name}`, value] as const);
  const metadata = { name: "team-a", annotations: Object.fromEntries<string>(keyed) };
  return { ...selectorFor("team-a", SECOND, ["team-a"]), metadata };
}

const BUCKET = [newBucket("b1")];
const S3 = { "session-policy-arns": "arn:aws:iam::aws:policy/AmazonS3FullAccess" };
const STRICT: Circumstances = { settings: { injection: { ...SETTINGS_BY_DEFAULT.injection, closures: ALL_CLOSED } } };

testRows("IRS-57 denies wider sessions of a selector that is in use", lines, [
  ["the policies are removed", [limited(S3), limited({}), BUCKET], "deny IRS-57 metadata.annotations: the sessions of "
    + "resources that the selector selects could do more: no session policy is left. Set "
    + "metadata.annotations[ack-role-resolver.io/session-policy-arns] to "
    + "\"arn:aws:iam::aws:policy/AmazonS3FullAccess\"."],
  ["nothing is selected", [limited(S3), limited({}), []]],
  ["narrower", [limited({}), limited(S3), BUCKET]],
  ["the scope", [limited({ "session-scope": "service" }), limited({ "session-scope": "none" }), BUCKET],
    /more: the session scope ends\. Set /],
  ["two changes", [limited({ ...S3, "session-scope": "service" }), limited({}), BUCKET],
    /ends, and no session policy is left\. Set .* and set/],
  ["a waiver", [limited(S3), limited({ allow: "IRS-57" }), BUCKET], /^warn \(waived\) IRS-57 /],
  ["in mode carm", [limited(S3), limited({}), BUCKET, { settings: { mode: "carm" } }]],
  ["the scope is the default", [limited({ "session-scope": "service" }), limited({}), BUCKET, STRICT]],
  ["an exception from the default", [limited({}), limited({ "session-scope": "none" }), BUCKET, STRICT], /scope ends/],
]);
