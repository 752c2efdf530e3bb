import fastJSONPatch, { type Operation } from "fast-json-patch";
import { test } from "tap";
import { failureChange } from "../../../certs/rotation/configuration-publisher.ts";
import { FAIL_WHEN_READY_ANNOTATION } from "../../../shared/core/annotation-keys.ts";
import { field, type JsonObject } from "../../../shared/formats/json.ts";
import {
  advanceUntil, eventReasons, failing, LEASE, installed, isPublished, isServed, markWebhooks, running, setEndpoint,
  SLICES, startReplica, until,
} from "./replica-fixture.ts";

const SELECTORS = ["iamroleselectors.mutate.ack-role-resolver.io", "iamroleselectors.validate.ack-role-resolver.io"];
const HOSTS = ["gate.ns.svc"];
const SERVICE = { name: "gate", namespace: "ns" };

function configuration(names: string, webhooks: readonly object[]): JsonObject {
  return { metadata: { annotations: { [FAIL_WHEN_READY_ANNOTATION]: names } }, webhooks };
}

function patched(before: JsonObject, { patch }: ReturnType<typeof failureChange>): JsonObject {
  const operations: Operation[] = patch.map((one) => ({ ...one }));
  return fastJSONPatch.applyPatch(before, operations, true, false).newDocument;
}

test("fails exactly the webhooks that the annotation names and that call a ready Service", (t) => {
  const webhook = (name: string, service: object, failurePolicy = "Ignore"): object => (
    { name, failurePolicy, clientConfig: { service } }
  );
  const before = configuration("a,b,d", [
    webhook("a", SERVICE), webhook("b", { ...SERVICE, namespace: "other" }), webhook("c", SERVICE),
    webhook("d", SERVICE, "Fail"),
  ]);
  const change = failureChange(before, { hosts: HOSTS, isReady: (name) => name === "gate" });
  t.same(change.names, ["a"]);
  t.same(patched(before, change), configuration("a,b,d", [
    webhook("a", SERVICE, "Fail"), webhook("b", { ...SERVICE, namespace: "other" }), webhook("c", SERVICE),
    webhook("d", SERVICE, "Fail"),
  ]));
  const none = { names: [], patch: [] };
  t.same(failureChange(before, { hosts: HOSTS, isReady: () => false }), none, "not ready");
  t.same(failureChange({ ...before, metadata: {} }, { hosts: HOSTS, isReady: () => true }), none, "no annotation");
  const outside = configuration("a", [{ name: "a", failurePolicy: "Ignore", clientConfig: { url: "https://gate.ns.svc" } }]);
  t.same(failureChange(outside, { hosts: HOSTS, isReady: (name) => name !== "" }), none, "no Service");
  t.end();
});

test("the patch fails if another client has replaced the annotation or moved the webhooks", (t) => {
  const webhooks = ["a", "b"].map((name) => ({ name, failurePolicy: "Ignore", clientConfig: { service: SERVICE } }));
  const change = failureChange(configuration("a", webhooks), { hosts: HOSTS, isReady: () => true });
  for (const other of [configuration("", webhooks), configuration("a", webhooks.toReversed()), { webhooks }]) {
    t.throws(() => patched(other, change));
  }
  t.end();
});

test("an installation starts with Ignore, fails when a Pod is ready, and stays so without Pods", async (t) => {
  const { api, clock } = installed();
  markWebhooks(api);
  const replica = startReplica(t, api, clock);
  await until(() => isPublished(api) && isServed(api));
  setEndpoint(api, true, "another");
  setEndpoint(api, false);
  await advanceUntil(clock, () => eventReasons(api).includes("CABundleSet"));
  t.same(failing(api), []);
  setEndpoint(api, true);
  await until(() => failing(api).length > 0);
  await advanceUntil(clock, () => eventReasons(api).includes("FailurePolicySet"));
  t.same(failing(api), SELECTORS);
  const writes = api.requests.filter((one) => one.startsWith("PATCH")).length;
  setEndpoint(api, false);
  api.remove(`${SLICES}/ack-role-resolver-webhook-a1b2c`);
  clock.advance(60_000);
  await until(() => api.requests.length > 0);
  t.same(failing(api), SELECTORS);
  t.equal(api.requests.filter((one) => one.startsWith("PATCH")).length, writes);
  t.match(await replica.registry.metrics(), /certificates_writes_total{step="fail",outcome="ok"} 2\n/);
});

test("starts to fail only when the API server reaches the webhook, and says what to open until then", async (t) => {
  const { api, clock } = installed();
  api.isReached = false;
  markWebhooks(api);
  setEndpoint(api, true);
  const { manager, lines } = startReplica(t, api, clock);
  await advanceUntil(clock, () => eventReasons(api).includes("WebhookNotReached"));
  t.same(failing(api), []);
  t.ok(manager.isUnreached);
  setEndpoint(api, false);
  await advanceUntil(clock, () => !manager.isUnreached);
  setEndpoint(api, true);
  await advanceUntil(clock, () => manager.isUnreached);
  t.match(lines.join(""), "in the security group of the nodes");
  api.rejected.set(`GET ${LEASE}`, 403);
  await advanceUntil(clock, () => api.requests.filter((one) => one === `GET ${LEASE}`).length > 20);
  t.same(failing(api), [], "unknown");
  api.rejected.clear();
  api.isReached = true;
  await advanceUntil(clock, () => failing(api).length === 2);
  t.notOk(manager.isUnreached);
  const asked = api.requests.filter((one) => one === `PUT ${LEASE}`).length;
  markWebhooks(api);
  api.isReached = false;
  await advanceUntil(clock, () => failing(api).length === 2);
  t.ok(asked > 0, "a webhook that was reached once stays closed");
});

test("never writes Fail before the caBundle", async (t) => {
  const { api, clock } = installed();
  markWebhooks(api);
  setEndpoint(api, true);
  const first = api.history.length;
  startReplica(t, api, clock);
  await until(() => failing(api).length === 2);
  const versions = api.history.slice(first).filter(({ metadata }) => field(metadata, "name") === "ack-role-resolver");
  const trusts = versions.map((one) => JSON.stringify(one)).filter((text) => text.includes('"Fail"'))
    .map((text) => text.includes('"caBundle"'));
  t.same(trusts, [true, true]);
});

test("restores Fail at most once a second if another program reverts it, and reports this", async (t) => {
  const { api, clock, lines } = await running(t);
  markWebhooks(api);
  setEndpoint(api, true);
  await until(() => failing(api).length === 2);
  markWebhooks(api);
  await until(() => failing(api).length === 2);
  await advanceUntil(clock, () => eventReasons(api).includes("FailurePolicyRestored"));
  t.match(lines.join(""), "failurePolicy restored to Fail");
  const before = api.requests.length;
  markWebhooks(api);
  const waitedMs = await advanceUntil(clock, () => failing(api).length === 2);
  t.ok(waitedMs <= 2_000 && api.requests.length > before, `restored after ${waitedMs} ms`);
});

test("maintains the certificates although it may not read EndpointSlices", async (t) => {
  const { api, clock } = installed();
  markWebhooks(api);
  setEndpoint(api, true);
  api.rejected.set(`GET ${SLICES}`, 403);
  const { lines, manager } = startReplica(t, api, clock);
  await until(() => isPublished(api) && isServed(api));
  t.ok(manager.isReady);
  await advanceUntil(clock, () => lines.join("").includes("watch of endpointslices"));
  t.same(failing(api), []);
  api.rejected.clear();
  await advanceUntil(clock, () => failing(api).length === 2);
  t.same(failing(api), SELECTORS);
});
