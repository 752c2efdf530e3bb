// Attempts to get a malformed selector past the webhook.
import { type Test, test } from "tap";
import { field, type JsonObject, stringAt } from "../../shared/formats/json.ts";
import { reviewOf } from "../webhook/reviews.ts";
import { webhookUnderTest } from "../webhook/webhook-under-test.ts";

const ROLE = "arn:aws:iam::111122223333:role/team-a";
const USER = { userInfo: { username: "mallory", groups: ["developers", "system:authenticated"] } };
const MASTER = { userInfo: { username: "root", groups: ["system:masters"] } };

function selector(spec: object, metadata: JsonObject = {}): JsonObject {
  return {
    apiVersion: "services.k8s.aws/v1alpha1",
    kind: "IAMRoleSelector",
    metadata: { name: "x", ...metadata },
    spec,
  };
}

interface Response {
  readonly allowed: unknown;
  readonly message: string;
  readonly text: string;
}

async function post(t: Test, object: JsonObject | string, request: JsonObject = {}): Promise<Response> {
  const webhook = webhookUnderTest();
  t.teardown(() => webhook.app.close());
  const body = typeof object === "string" ? object : reviewOf(object, { ...USER, ...request });
  const { status, json, text } = await webhook.post("/validate/iamroleselectors", body);
  t.equal(status, 200);
  const message = stringAt(json, "response", "status", "message") ?? "";
  return { allowed: field(field(json, "response"), "allowed"), message, text };
}

async function denied(t: Test, object: JsonObject, request: JsonObject, message: RegExp): Promise<void> {
  const response = await post(t, object, request);
  t.equal(response.allowed, false);
  t.match(response.message, message);
}

const GOOD = { arn: ROLE, namespaceSelector: { names: ["team-a"] } };
const EVERYTHING = { arn: ROLE };

test("ignores a waiver if the requester is not a waiver user", async (t) => {
  const waived = selector(EVERYTHING, { annotations: { "ack-role-resolver.io/allow": "IRS-15" } });
  await denied(t, waived, USER, /IRS-15 spec: .*the waiver is ignored because the requester is not a waiver user/);
  t.equal((await post(t, waived, MASTER)).allowed, true, "a waiver user can waive the check");
});

test("ignores a waiver for a check that cannot be waived", async (t) => {
  const waived = selector(
    { ...GOOD, arn: "not-an-arn" },
    { annotations: { "ack-role-resolver.io/allow": "IRS-02, IRS-03" } },
  );
  await denied(t, waived, MASTER, /^IRS-02 spec\.arn: "not-an-arn" is not an ARN/);
});

test("ignores userInfo.groups if the value is not a list, and ignores groups in userInfo.extra", async (t) => {
  const object = selector(EVERYTHING, { annotations: { "ack-role-resolver.io/allow": "IRS-15" } });
  const userInfo = { username: "mallory", groups: "system:masters", extra: { groups: ["system:masters"] } };
  await denied(t, object, { userInfo }, /IRS-15/);
});

test("denies an update that adds a fault, even if the request contains a deletionTimestamp", async (t) => {
  const deleting = { deletionTimestamp: "2026-11-21T00:00:00Z", deletionGracePeriodSeconds: 0 };
  const submitted = selector({ ...GOOD, arn: "not-an-arn" }, deleting);
  await denied(t, submitted, { operation: "UPDATE", oldObject: selector(GOOD) }, /IRS-02/);
});

test("denies an update that adds a fault, even if the update also changes the finalizers", async (t) => {
  const spec = { ...GOOD, namespaceSelector: { names: ["team-a", "team-a"] } };
  const changed = selector(spec, { finalizers: ["example.com/wait"] });
  await denied(t, changed, { operation: "UPDATE", oldObject: selector(GOOD) }, /IRS-08/);
});

test("denies a new fault, even if the stored selector already fails the same check", async (t) => {
  const twice = (...names: string[]): JsonObject => selector({ ...GOOD, namespaceSelector: { names } });
  const update = { operation: "UPDATE", oldObject: twice("a", "a", "b") };
  const message = /IRS-08 spec\.namespaceSelector\.names\[3\]: "b" is already listed/;
  await denied(t, twice("a", "a", "b", "b"), update, message);
  const moved = await post(t, twice("b", "a", "a"), update);
  t.equal(moved.allowed, true, "a stored fault at another position is not new");
});

test("denies a malformed selector if a create request also contains an old object", async (t) => {
  const bad = selector({ ...GOOD, arn: "not-an-arn" });
  await denied(t, bad, { operation: "CREATE", oldObject: bad }, /IRS-02/);
});

test("denies a malformed selector whose API version is not v1alpha1", async (t) => {
  await denied(t, { ...selector({ ...GOOD, arn: "not-an-arn" }), apiVersion: "services.k8s.aws/v1" }, {}, /IRS-02/);
});

test("denies a malformed selector in a dry run", async (t) => {
  await denied(t, selector({ ...GOOD, arn: "not-an-arn" }), { dryRun: true }, /IRS-02/);
});

test("denies a selector whose spec is under the key __proto__ or constructor", async (t) => {
  const body = JSON.stringify(reviewOf(selector({ arn: "not-an-arn" }), USER));
  for (const key of ["__proto__", "constructor"]) {
    const hidden = body.replace('"spec":{"arn":"not-an-arn"}', `"${key}":${JSON.stringify({ spec: GOOD })}`);
    t.not(hidden, body);
    const { allowed, message } = await post(t, hidden);
    t.equal(allowed, false, key);
    t.match(message, /IRS-01 spec\.arn: the role is missing/);
  }
});

test("denies names that have look-alike, invisible or control characters, and the response is printable", async (t) => {
  for (const name of ["te\u0430m-a", "team-a\u200b", "team-a\n", " team-a", "team-a\u001b[2K", "TEAM-A"]) {
    const { allowed, text } = await post(t, selector({ arn: ROLE, namespaceSelector: { names: [name] } }));
    t.equal(allowed, false, JSON.stringify(name));
    t.notMatch(text, /\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}/u, "the response is printable");
  }
});

test("denies a role ARN that has extra or different characters", async (t) => {
  const arns = [
    `${ROLE} `, `${ROLE}\n`, ROLE.replace("role", "Role"), ROLE.replace("arn:", "ARN:"), `${ROLE}/`,
    ROLE.replace("111122223333", "１１１１２２２２３３３３"), `${ROLE}:x`,
    "arn:aws:sts::111122223333:assumed-role/team-a/s",
  ];
  for (const arn of arns) {
    t.equal((await post(t, selector({ ...GOOD, arn }))).allowed, false, JSON.stringify(arn));
  }
});

test("denies a selector whose restrictions controllers ignore", async (t) => {
  const expressions = { matchExpressions: [{ key: "team", operator: "In", values: ["a"] }] };
  const namespaceSelector = { names: [], labelSelector: { matchLabels: {}, ...expressions } };
  await denied(t, selector({ arn: ROLE, namespaceSelector }), {}, /IRS-35/);
  await denied(t, selector({ arn: ROLE, resourceLabelSelector: { matchLabels: { team: null } } }), {}, /IRS-00/);
  const resourceTypeSelector = [{ group: "", version: "", kind: "" }];
  await denied(t, selector({ arn: ROLE, resourceTypeSelector }), {}, /IRS-12/);
});

test("denies a selector that has 20,000 faults", async (t) => {
  const names = Array.from({ length: 20_000 }, () => "a");
  const { allowed, text } = await post(t, selector({ arn: ROLE, namespaceSelector: { names } }));
  t.equal(allowed, false);
  t.ok(text.length > 0);
});
