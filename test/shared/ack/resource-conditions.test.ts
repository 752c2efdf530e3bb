import { test } from "tap";
import { acceptedAt, reportedConditions } from "../../../shared/ack/resource-conditions.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { bucketObject } from "../objects.ts";
import { testRows } from "../rows.ts";

type Condition = readonly [type: string, status: string, message?: string, reason?: string, at?: string];

function bucketWith(conditions: readonly Condition[]): JsonObject {
  const list = conditions.map(([type, status, message, reason, lastTransitionTime]) => (
    { type, status, message, reason, lastTransitionTime }
  ));
  return bucketObject({}, { status: { conditions: list } });
}

function linesOf(conditions: readonly Condition[]): string[] {
  return reportedConditions(bucketWith(conditions)).map(({ type, meaning, text, existing }) => (
    `${meaning} ${type}: ${text}${existing === null ? "" : ` (${existing})`}`
  ));
}

const SYNCED: Condition = ["ACK.ResourceSynced", "True", "Resource synced successfully", ""];
const NOT_MANAGED: Condition = [
  "ACK.Terminal", "True", "Resource already exists", "It is not managed by ACK.",
];
const terminal = (message: string): readonly Condition[] => [["ACK.Terminal", "True", message]];

testRows("tells what each condition of a controller means", linesOf, [
  ["no condition", []],
  ["those of a healthy bucket", [
    SYNCED, ["ACK.LateInitialized", "True", "Late initialization successful", "Late initialization successful"],
    ["ACK.ReferencesResolved", "True"], ["ACK.Adopted", "True"], ["Ready", "True", "Resource synced successfully"],
    ["ACK.IAMRoleSelected", "True", "Selected", "roleARN: arn, selectorName: a, selectorResourceVersion: 7"],
  ]],
  ["errors of the past", [["ACK.Terminal", "False"], ["ACK.Recoverable", "False"], ["ACK.Advisory", "False"]]],
  ["conditions of a later runtime, and of others", [["ACK.New", "True", "x"], ["Ready", "False", "x"]]],
  ["a status that Kubernetes does not have", [["ACK.Terminal", "true", "x"], ["ACK.Terminal", "", "x"]]],
  ["a creation that takes time", [["ACK.ResourceSynced", "False", "Resource not synced"]],
    "waiting ACK.ResourceSynced: Resource not synced"],
  ["late initialization", [["ACK.LateInitialized", "False"], ["ACK.ResourceSynced", "False"]],
    "waiting ACK.LateInitialized: status False", "waiting ACK.ResourceSynced: status False"],
  ["a reference to a resource that is not ready, or failed", [
    ["ACK.ReferencesResolved", "Unknown", "Reference resolution failed", "not synced"],
    ["ACK.ReferencesResolved", "False", "Reference resolution failed", "terminal"],
  ], "error ACK.ReferencesResolved: Reference resolution failed: terminal"],
  ["a missing role in the CARM maps", [["ACK.ResourceSynced", "False", "IAM Role is not available", "key not found"]],
    "error ACK.ResourceSynced: IAM Role is not available: key not found"],
  ["an error, without what repeats it, before what is only advice", [
    ["ACK.Advisory", "True", "immutable"], ["ACK.ResourceSynced", "Unknown", "Unable to determine", "denied"],
    ["ACK.Recoverable", "True", "denied"],
  ], "error ACK.Recoverable: denied", "notice ACK.Advisory: immutable"],
  ["an adoption that failed", [["ACK.Adopted", "False", "x"]], "error ACK.Adopted: x"],
  ["a long message with control characters", terminal(`\u001B${"x".repeat(2000)}`),
    `error ACK.Terminal: \\u001b${"x".repeat(994)}...`],
]);

testRows("tells which AWS resource exists already", linesOf, [
  ["an object without the finalizer", [NOT_MANAGED],
    "error ACK.Terminal: Resource already exists: It is not managed by ACK (unmanaged)"],
  ["the bucket of another account", terminal("api error BucketAlreadyExists: not available"),
    "error ACK.Terminal: api error BucketAlreadyExists: not available (foreign)"],
  ["codes of AWS", [
    ["ACK.Recoverable", "True", "BucketAlreadyOwnedByYou: x"], ["ACK.Terminal", "True", "InvalidGroup.Duplicate: x"],
  ], "error ACK.Recoverable: BucketAlreadyOwnedByYou: x (unidentified)",
  "error ACK.Terminal: InvalidGroup.Duplicate: x (unidentified)"],
  ["a message of AWS", terminal("Role with name a already exists."),
    "error ACK.Terminal: Role with name a already exists (unidentified)"],
  ["another account of the same object", terminal("Resource already exists in account 1, but the role"),
    "error ACK.Terminal: Resource already exists in account 1, but the role"],
  ["another condition", [["ACK.Advisory", "True", "already exists"]], "notice ACK.Advisory: already exists"],
]);

test("tells when AWS last accepted the credentials of the controller", (t) => {
  const at = (condition: Condition, time: string): Condition => {
    const [type, status, message = "", reason = ""] = condition;
    return [type, status, message, reason, time];
  };
  const [early, late] = ["2026-08-01T10:00:00Z", "2026-08-01T11:00:00Z"];
  for (const [conditions, expected] of [
    [[], null],
    [[SYNCED], null],
    [[at(SYNCED, "yesterday")], null],
    [[at(SYNCED, early)], early],
    [[at(SYNCED, early), at(NOT_MANAGED, late)], late],
    [[at(["ACK.ResourceSynced", "Unknown"], early), at(["ACK.IAMRoleSelected", "True"], late)], null],
    [[at(["ACK.Terminal", "True", "bad spec"], late)], null],
  ] as const) {
    t.equal(acceptedAt(bucketWith(conditions)), expected);
  }
  t.same([reportedConditions(bucketObject()), acceptedAt(bucketObject())], [[], null], "no status");
  t.end();
});
