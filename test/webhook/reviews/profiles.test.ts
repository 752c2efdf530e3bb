// What the webhook answers in each profile, from the settings of the command to the response.
import { type Test, test } from "tap";
import { LIMITS } from "../../../shared/core/limits.ts";
import { decisionSettings } from "../../../shared/core/context.ts";
import { type Profile, PROFILE_NAMES } from "../../../shared/core/profiles.ts";
import { field, type JsonObject } from "../../../shared/formats/json.ts";
import { readSettings } from "../../../shared/server/read-settings.ts";
import { bucketObject, namespaceObject, selectorObject } from "../../shared/objects.ts";
import { objectAt, reviewOf } from "../reviews.ts";
import { FakeSource, type WebhookUnderTest, webhookUnderTest } from "../webhook-under-test.ts";

const CONTROLLER = "system:serviceaccount:ack-system:ack-s3-controller";
const BY_CONTROLLER = { userInfo: { username: CONTROLLER, groups: [] } };
const REQUIRED = "ack-role-resolver.io/selector-required";
const WAIVER = { "ack-role-resolver.io/allow": "IRS-15" };
const ROLE = { arn: "arn:aws:iam::111122223333:role/a", namespaceSelector: { names: ["team-a"] } };
const MAP = {
  apiVersion: "v1", kind: "ConfigMap", metadata: { name: "ack-role-account-map", namespace: "ack-system" },
};
const CLUSTER = {
  apiVersion: "infrastructure.cluster.x-k8s.io/v1beta2", kind: "AWSCluster", spec: {},
  metadata: { name: "c", namespace: "team-a" },
};
const MANY = Object.fromEntries(Array.from({ length: LIMITS.reviewValues.value + 1 }, (_, i) => [`k${i}`, ""]));
const LABELS = Object.fromEntries(
  Array.from({ length: LIMITS.metadataEntries.value + 1 }, (_, i) => [`k${i}`, ""]),
);

/** A webhook whose namespace team-a requires a selector, and whose namespace open permits the controllers' own role. */
function webhook(profile: Profile, check: readonly string[] = []): WebhookUnderTest {
  const flags = { cluster: true, tlsDir: "tls", profile, check, controllerUsers: ["ack-system/ack-s3-controller"] };
  const source = new FakeSource([
    namespaceObject("team-a", {}, {}), namespaceObject("required", {}, { [REQUIRED]: "true" }),
    namespaceObject("open", {}, { [REQUIRED]: "false" }), namespaceObject("kube-public", {}, { [REQUIRED]: "false" }),
  ]);
  const allowed = async (): Promise<"allowed"> => "allowed";
  return webhookUnderTest(source, decisionSettings(readSettings("webhook", flags, {})), allowed);
}

/** Returns the codes that deny, or those of the warnings in brackets. */
async function answer(subject: WebhookUnderTest, path: string, review: JsonObject): Promise<string> {
  const response = objectAt((await subject.post(`/validate/${path}`, review)).json, "response");
  const { warnings = [], status, allowed } = response;
  const lines = allowed === true ? warnings : String(field(status, "message")).split("\n");
  const codes = [...new Set([lines].flat().map((line) => String(line).split(/[ :]/)[0]))].join();
  return allowed === true ? `(${codes})` : codes;
}

type Row = readonly [what: string, path: string, review: JsonObject, answers: readonly [string, string, string]];

const change = (object: JsonObject, oldObject: JsonObject): JsonObject => (
  reviewOf(object, { operation: "UPDATE", oldObject })
);
const bucketIn = (namespace: string): JsonObject => (
  { ...bucketObject(), metadata: { name: "b", namespace } }
);
const huge = (object: JsonObject, operation = "CREATE"): JsonObject => {
  const content = { ...object, data: MANY };
  const objects = operation === "DELETE" ? { object: null, oldObject: content } : { object: content };
  return reviewOf(object, { operation, ...objects });
};

const ROWS: readonly Row[] = [
  ["a malformed selector", "iamroleselectors", reviewOf(selectorObject("a", { ...ROLE, arn: "x" })),
    ["(IRS-02)", "IRS-02", "IRS-02"]],
  ["a selector of a controller", "iamroleselectors", reviewOf(selectorObject("a", ROLE), BY_CONTROLLER),
    ["IRS-24", "IRS-24", "IRS-24"]],
  ["a selector with a waiver", "iamroleselectors", reviewOf(selectorObject("a", ROLE, { annotations: WAIVER })),
    ["WAIVER-01", "WAIVER-01", "WAIVER-01"]],
  ["a selector too large to read", "iamroleselectors", huge(selectorObject("a", ROLE)), ["IRS-48", "IRS-48", "IRS-48"]],
  ["a CARM map of a controller", "configmaps", reviewOf(MAP, BY_CONTROLLER), ["CM-15", "CM-15", "CM-15"]],
  ["a CARM map too large to delete", "configmaps", huge(MAP, "DELETE"), ["CM-14", "CM-14", "CM-14"]],
  ["the removal of selector-required", "namespaces",
    change(namespaceObject("required"), namespaceObject("required", {}, { [REQUIRED]: "true" })),
    ["NS-17", "NS-17", "NS-17"]],
  ["selector-required: false", "namespaces",
    change(namespaceObject("team-a", {}, { [REQUIRED]: "false" }), namespaceObject("team-a")),
    ["NS-17", "NS-17", "NS-17"]],
  ["a namespace with too many labels", "namespaces", reviewOf(namespaceObject("team-b", LABELS)),
    ["NS-14", "NS-14", "NS-14"]],
  ["a resource without a selector", "resources", reviewOf(bucketIn("team-a")), ["(ACK-05)", "(ACK-05)", "ACK-05"]],
  ["a stored resource without a selector", "resources", change({ ...bucketIn("team-a"), spec: {} }, bucketIn("team-a")),
    ["(ACK-05)", "(ACK-05)", "(ACK-05)"]],
  ["a resource without a selector where one is required", "resources", reviewOf(bucketIn("required")),
    ["(ACK-05b)", "ACK-05b", "ACK-05b"]],
  ["a resource without a selector where none is required", "resources", reviewOf(bucketIn("open")),
    ["(ACK-05)", "(ACK-05)", "(ACK-05)"]],
  ["a resource in a system namespace", "resources", reviewOf(bucketIn("kube-public")),
    ["(ACK-05)", "(ACK-05)", "ACK-05"]],
  ["a resource too large to read", "resources", huge(bucketIn("team-a")), ["ACK-35", "ACK-35", "ACK-35"]],
  ["a resource too large to delete", "resources", huge(bucketIn("team-a"), "DELETE"), ["(ACK-35)", "ACK-35", "ACK-35"]],
  ["a resource with too many labels", "resources",
    reviewOf({ ...bucketIn("team-a"), metadata: { name: "b", namespace: "team-a", labels: LABELS } }),
    ["(ACK-35)", "ACK-35", "ACK-35"]],
  ["a resource with too many labels and a waiver", "resources",
    reviewOf({
      ...bucketIn("team-a"), metadata: { name: "b", namespace: "team-a", labels: LABELS, annotations: WAIVER },
    }),
    ["WAIVER-01", "ACK-35,WAIVER-01", "ACK-35,WAIVER-01"]],
  ["a cluster without an identity", "clusters", reviewOf(CLUSTER), ["(AC-01,AC-03)", "(AC-01,AC-03)", "AC-03"]],
  ["a cluster without an identity where none is required", "clusters",
    reviewOf({ ...CLUSTER, metadata: { name: "c", namespace: "open" } }),
    ["(AC-01,AC-03)", "(AC-01,AC-03)", "(AC-01,AC-03)"]],
];

test("each profile denies what its rows say, and all deny the checks that protect the webhook", async (t) => {
  for (const [what, path, review, answers] of ROWS) {
    for (const [i, profile] of PROFILE_NAMES.entries()) {
      t.equal(await answer(webhook(profile), path, review), answers[i], `${profile}: ${what}`);
    }
  }
});

test("observe counts what enforce denies, and says so in the warning, the log and the metrics", async (t) => {
  for (const [what, path, review, [inObserve, inEnforce]] of ROWS) {
    const subject = webhook("observe");
    const { json } = await subject.post(`/validate/${path}`, review);
    const codes = !inEnforce.startsWith("(") && inObserve.startsWith("(") ? inEnforce.split(",") : [];
    t.same([...new Set(subject.observed)].toSorted(), codes, `counted: ${what}`);
    t.same(subject.lines[0]?.["would_deny"], codes.length === 0 ? undefined : codes, `logged: ${what}`);
    const warnings = [field(field(json, "response"), "warnings") ?? []].flat().map(String);
    const marked = warnings.filter((one) => one.includes("(would be denied)")).map((one) => one.split(" ", 1).join());
    if (inObserve.startsWith("(")) t.same([...new Set(marked)].toSorted(), codes, `warned: ${what}`);
    const metrics = await subject.registry.metrics();
    t.same(codes.filter((code) => !metrics.includes(`code="${code}",severity="would-deny"`)), [], `metric: ${what}`);
  }
});

test("observe does not count a dry run, and enforce counts nothing", async (t) => {
  const malformed = selectorObject("a", { ...ROLE, arn: "x" });
  const dryRun = webhook("observe");
  await dryRun.post("/validate/iamroleselectors", reviewOf(malformed, { dryRun: true }));
  t.match(dryRun.lines, [{ would_deny: ["IRS-02"] }]);
  t.same(dryRun.observed, []);
  const enforced = webhook("enforce", ["IRS-02=warn"]);
  await enforced.post("/validate/iamroleselectors", reviewOf(malformed));
  t.match(enforced.lines, [{ answer: "allowed", codes: ["IRS-02"], would_deny: undefined }]);
  t.same(enforced.observed, []);
});

test("observe counts an object that it admits although its review failed", async (t) => {
  const subject = webhook("observe");
  subject.requestMs = 60_000;
  await subject.post("/validate/iamroleselectors", reviewOf(selectorObject("a", ROLE)));
  t.same(subject.observed, ["ERR_REQUEST_DEADLINE"]);
  t.match(subject.lines, [{ answer: "allowed", would_deny: ["ERR_REQUEST_DEADLINE"] }]);
});

test("a severity of --check overrides each profile", async (t) => {
  const malformed = reviewOf(selectorObject("a", { ...ROLE, arn: "x" }));
  for (const profile of PROFILE_NAMES) {
    const set = (check: string): WebhookUnderTest => webhook(profile, [check]);
    t.equal(await answer(set("IRS-02=deny"), "iamroleselectors", malformed), "IRS-02", profile);
    t.equal(await answer(set("ACK-05=warn"), "resources", reviewOf(bucketIn("team-a"))), "(ACK-05)", profile);
    t.equal(await answer(set("ACK-05=deny"), "resources", reviewOf(bucketIn("team-a"))), "ACK-05", profile);
  }
});

test("in strict, a requester needs the verb use", async (t) => {
  const denied = async (): Promise<"denied"> => "denied";
  const settings = decisionSettings(readSettings("webhook", { cluster: true, tlsDir: "tls", profile: "strict" }, {}));
  const source = new FakeSource([namespaceObject("team-a"), selectorObject("a", ROLE)]);
  const subject = webhookUnderTest(source, settings, denied);
  t.equal(await answer(subject, "resources", reviewOf(bucketIn("team-a"))), "ACK-09");
});

/** Plants an error in each review after the object was read. */
async function failed(t: Test, profile: Profile, path: string, review: JsonObject): Promise<string> {
  const subject = webhook(profile);
  subject.requestMs = 60_000;
  t.comment(path);
  return await answer(subject, path, review);
}

test("observe admits an object whose review fails, unless a check that denies in every profile does", async (t) => {
  const late = "ERR_REQUEST_DEADLINE";
  t.equal(await failed(t, "enforce", "iamroleselectors", reviewOf(selectorObject("a", ROLE))), late);
  t.equal(await failed(t, "observe", "iamroleselectors", reviewOf(selectorObject("a", ROLE))), `(${late})`);
  t.equal(await failed(t, "observe", "iamroleselectors", reviewOf(selectorObject("a", ROLE), BY_CONTROLLER)), late);
});
