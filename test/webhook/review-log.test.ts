import { SELECTORS } from "../../shared/ack/selectors.ts";
import { test } from "tap";
import { fixture, reviewOf } from "./reviews.ts";
import { COMPANY, FakeSource, webhookUnderTest } from "./webhook-under-test.ts";

test("logs the requester, the object and the result of a resolution in one line", async (t) => {
  const webhook = webhookUnderTest();
  webhook.requestMs = 1.23456;
  await webhook.post("/mutate/resources", fixture("bucket-create-selected"));
  t.equal(webhook.lines.length, 1);
  const { time, ...line } = webhook.lines[0] ?? {};
  t.type(time, "string");
  t.strictSame(line, {
    level: "info",
    name: "webhook",
    path: "/mutate/resources",
    uid: "705ab4f5-6393-11e8-b7cc-42010a800020",
    user: "alice@example.com",
    operation: "CREATE",
    object: { api_version: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", namespace: "team-a", name: "b1" },
    dry_run: false,
    duration_ms: 1.235,
    answer: "patched",
    outcome: "selected",
    selector: "team-a",
    account_id: "111122223333",
    region: "eu-west-1",
    role_arn: "arn:aws:iam::111122223333:role/team-a",
    codes: [],
    msg: "admission review answered",
  });
});

test("logs every selector of a conflict, and no selector for the controller's own role", async (t) => {
  const webhook = webhookUnderTest();
  await webhook.post("/mutate/resources", fixture("bucket-create-conflict"));
  await webhook.post("/mutate/resources", fixture("bucket-create-default"));
  const [conflict, byDefault] = webhook.lines;
  t.match(conflict, {
    outcome: "conflict",
    selector: null,
    conflicting_selectors: ["shared", "team-a"],
    role_arn: null,
  });
  t.match(byDefault, { outcome: "default", selector: null, account_id: "777788889999", role_arn: null, dry_run: true });
});

test("logs the check codes of a denied review, and the reason of a skipped review", async (t) => {
  const webhook = webhookUnderTest();
  await webhook.post("/validate/iamroleselectors", fixture("selector-create-malformed"));
  await webhook.post("/validate/iamroleselectors", fixture("selector-update-finalizers"));
  t.match(webhook.lines[0], { answer: "denied", outcome: "denied", codes: ["IRS-02", "IRS-08", "IRS-12"] });
  t.match(webhook.lines[1], { answer: "skipped", outcome: "skipped", reason: "bookkeeping only", codes: [] });
});

test("does not log the spec of an object", async (t) => {
  const webhook = webhookUnderTest();
  const metadata = { name: "b", namespace: "team-a" };
  const object = { apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata, spec: { secret: "planted" } };
  await webhook.post("/mutate/resources", reviewOf(object));
  await webhook.post("/mutate/resources", JSON.stringify(reviewOf(object)).slice(1));
  t.equal(webhook.lines.length, 2);
  t.notMatch(JSON.stringify(webhook.lines), "planted");
});

test("counts requests, findings and resolutions in metrics whose label values are bounded", async (t) => {
  const webhook = webhookUnderTest();
  await webhook.post("/validate/iamroleselectors", fixture("selector-create-malformed"));
  await webhook.post("/validate/iamroleselectors", fixture("selector-update-old-faults"));
  await webhook.post("/mutate/resources", fixture("bucket-create-conflict"));
  webhook.requestMs = 4;
  await webhook.post("/mutate/resources", "");
  const metrics = await webhook.registry.metrics();
  for (const line of [
    `requests_total{path="/validate/iamroleselectors",operation="CREATE",outcome="denied"} 1`,
    `requests_total{path="/validate/iamroleselectors",operation="UPDATE",outcome="allowed"} 1`,
    `requests_total{path="/mutate/resources",operation="CREATE",outcome="patched"} 1`,
    `requests_total{path="/mutate/resources",operation="unknown",outcome="error"} 1`,
    `errors_total{path="/mutate/resources",code="ERR_REQUEST_MALFORMED"} 1`,
    `findings_total{code="IRS-02",severity="deny"} 1`,
    `findings_total{code="IRS-02",severity="warn"} 1`,
    `resolutions_total{outcome="conflict"} 1`,
    `request_duration_seconds_bucket{le="0.0025",path="/mutate/resources"} 1`,
    `request_duration_seconds_bucket{le="0.005",path="/mutate/resources"} 2`,
  ]) {
    t.match(metrics, `ack_role_resolver_webhook_${line}`);
  }
  t.notMatch(metrics, /team-a|alice|arn:/);
});

test("denies an object if its review fails with an internal error, and logs the cause", async (t) => {
  const source = new FakeSource(COMPANY);
  const webhook = webhookUnderTest(source);
  source.inventory.of(SELECTORS).inNamespace = () => {
    throw new Error("planted");
  };
  const response = await webhook.post("/mutate/resources", fixture("bucket-create-selected"));
  t.equal(response.status, 200);
  t.equal(response.type, "application/json");
  const message = "ERR_INTERNAL: The webhook failed with an internal error. See its log for the cause.";
  const status = { status: "Failure", message, reason: "InternalError", code: 500 };
  t.match(response.json, { kind: "AdmissionReview", response: { allowed: false, status } });
  t.notMatch(response.text, "planted");
  const uid = "705ab4f5-6393-11e8-b7cc-42010a800020";
  t.match(webhook.lines[0], {
    level: "warn", answer: "denied", outcome: "error", codes: ["ERR_INTERNAL"], err: { message: "planted" }, uid,
  });
  const metrics = await webhook.registry.metrics();
  t.match(metrics, 'ack_role_resolver_webhook_errors_total{path="/mutate/resources",code="ERR_INTERNAL"} 1');
});
