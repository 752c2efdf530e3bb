// Ways round the refusal of malformed selectors, each named by what the attacker does.
import { type Test, test } from "tap";
import { field, type JsonObject, stringAt } from "../../shared/decisions/kubernetes/json.ts";
import { reviewOf } from "../webhook/reviews.ts";
import { webhookUnderTest } from "../webhook/webhook-under-test.ts";

const ROLE = "arn:aws:iam::111122223333:role/team-a";
const USER = { userInfo: { username: "mallory", groups: ["developers", "system:authenticated"] } };
const MASTER = { userInfo: { username: "root", groups: ["system:masters"] } };

function selector(spec: object, metadata: JsonObject = {}): JsonObject {
  return { apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name: "x", ...metadata }, spec };
}

interface Answer {
  readonly allowed: unknown;
  readonly message: string;
  readonly text: string;
}

async function ask(t: Test, object: JsonObject | string, request: JsonObject = {}): Promise<Answer> {
  const webhook = webhookUnderTest();
  t.teardown(() => webhook.app.close());
  const { status, json, text } = await webhook.post("/validate/iamroleselectors", typeof object === "string" ? object : reviewOf(object, { ...USER, ...request }));
  t.equal(status, 200);
  return { allowed: field(field(json, "response"), "allowed"), message: stringAt(json, "response", "status", "message") ?? "", text };
}

async function denied(t: Test, object: JsonObject, request: JsonObject, message: RegExp): Promise<void> {
  const answer = await ask(t, object, request);
  t.equal(answer.allowed, false);
  t.match(answer.message, message);
}

const GOOD = { arn: ROLE, namespaceSelector: { names: ["team-a"] } };
const EVERYTHING = { arn: ROLE };

test("a tenant waives a check on an object of theirs", async (t) => {
  const waived = selector(EVERYTHING, { annotations: { "ack-role-resolver.io/allow": "IRS-15" } });
  await denied(t, waived, USER, /IRS-15 spec: .*the waiver on it is ignored, since the requester may not waive checks/);
  t.equal((await ask(t, waived, MASTER)).allowed, true, "who may waive does");
});

test("one who may waive waives a check that nobody can", async (t) => {
  const waived = selector({ ...GOOD, arn: "not-an-arn" }, { annotations: { "ack-role-resolver.io/allow": "IRS-02, IRS-03" } });
  await denied(t, waived, MASTER, /^IRS-02 spec\.arn: "not-an-arn" is not an ARN/);
});

test("a group is claimed in another field than the API server's", async (t) => {
  const object = selector(EVERYTHING, { annotations: { "ack-role-resolver.io/allow": "IRS-15" } });
  await denied(t, object, { userInfo: { username: "mallory", groups: "system:masters", extra: { groups: ["system:masters"] } } }, /IRS-15/);
});

test("the new object claims to be on its way out", async (t) => {
  const claimed = selector({ ...GOOD, arn: "not-an-arn" }, { deletionTimestamp: "2026-11-21T00:00:00Z", deletionGracePeriodSeconds: 0 });
  await denied(t, claimed, { operation: "UPDATE", oldObject: selector(GOOD) }, /IRS-02/);
});

test("a fault rides on a change of finalizers", async (t) => {
  const changed = selector({ ...GOOD, namespaceSelector: { names: ["team-a", "team-a"] } }, { finalizers: ["example.com/wait"] });
  await denied(t, changed, { operation: "UPDATE", oldObject: selector(GOOD) }, /IRS-08/);
});

test("a new fault hides behind an old one of the same check", async (t) => {
  const twice = (...names: string[]): JsonObject => selector({ ...GOOD, namespaceSelector: { names } });
  await denied(t, twice("a", "a", "b", "b"), { operation: "UPDATE", oldObject: twice("a", "a", "b") }, /IRS-08 spec\.namespaceSelector\.names\[3\]: "b" is listed already/);
  t.equal((await ask(t, twice("b", "a", "a"), { operation: "UPDATE", oldObject: twice("a", "a", "b") })).allowed, true, "the old fault in another place is the old fault");
});

test("the operation is CREATE while a stored object is sent along", async (t) => {
  const bad = selector({ ...GOOD, arn: "not-an-arn" });
  await denied(t, bad, { operation: "CREATE", oldObject: bad }, /IRS-02/);
});

test("another version of the kind is used", async (t) => {
  await denied(t, { ...selector({ ...GOOD, arn: "not-an-arn" }), apiVersion: "services.k8s.aws/v1" }, {}, /IRS-02/);
});

test("a dry run probes for another answer", async (t) => {
  await denied(t, selector({ ...GOOD, arn: "not-an-arn" }), { dryRun: true }, /IRS-02/);
});

test("the spec hides under a key that is special in JavaScript", async (t) => {
  const body = JSON.stringify(reviewOf(selector({ arn: "not-an-arn" }), USER));
  for (const key of ["__proto__", "constructor"]) {
    const hidden = body.replace('"spec":{"arn":"not-an-arn"}', `"${key}":${JSON.stringify({ spec: GOOD })}`);
    t.not(hidden, body);
    const { allowed, message } = await ask(t, hidden);
    t.equal(allowed, false, key);
    t.match(message, /IRS-01 spec\.arn: the role is missing/);
  }
});

test("a look-alike of a namespace, and text that is invisible or moves the cursor", async (t) => {
  for (const name of ["te\u0430m-a", "team-a\u200b", "team-a\n", " team-a", "team-a\u001b[2K", "TEAM-A"]) {
    const { allowed, text } = await ask(t, selector({ arn: ROLE, namespaceSelector: { names: [name] } }));
    t.equal(allowed, false, JSON.stringify(name));
    t.notMatch(text, /\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}/u, "nothing of it reaches a terminal raw");
  }
});

test("an ARN is dressed up", async (t) => {
  for (const arn of [`${ROLE} `, `${ROLE}\n`, ROLE.replace("role", "Role"), ROLE.replace("arn:", "ARN:"), `${ROLE}/`, ROLE.replace("111122223333", "１１１１２２２２３３３３"), `${ROLE}:x`, `arn:aws:sts::111122223333:assumed-role/team-a/s`]) {
    t.equal((await ask(t, selector({ ...GOOD, arn }))).allowed, false, JSON.stringify(arn));
  }
});

test("the restriction is written so that controllers drop it", async (t) => {
  const expressions = { matchExpressions: [{ key: "team", operator: "In", values: ["a"] }] };
  await denied(t, selector({ arn: ROLE, namespaceSelector: { names: [], labelSelector: { matchLabels: {}, ...expressions } } }), {}, /IRS-35/);
  await denied(t, selector({ arn: ROLE, resourceLabelSelector: { matchLabels: { team: null } } }), {}, /IRS-00/);
  await denied(t, selector({ arn: ROLE, resourceTypeSelector: [{ group: "", version: "", kind: "" }] }), {}, /IRS-12/);
});

test("so many faults that the answer itself would fail", async (t) => {
  const names = Array.from({ length: 20_000 }, () => "a");
  const { allowed, text } = await ask(t, selector({ arn: ROLE, namespaceSelector: { names } }));
  t.equal(allowed, false);
  t.ok(text.length > 0);
});
