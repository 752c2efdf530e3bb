import { type Test, test } from "tap";
import type { DecisionSettings } from "../../shared/core/context.ts";
import type { JsonObject } from "../../shared/formats/json.ts";
import type { FetchedObject, ObjectFetcher } from "../../webhook/object-fetch.ts";
import { objectAt, reviewOf } from "./reviews.ts";
import { COMPANY, FakeSource, untilWaiting, type WebhookUnderTest, webhookUnderTest } from "./webhook-under-test.ts";

const VALIDATE = "/validate/resources";
const PROD: JsonObject = {
  apiVersion: "v1", kind: "Namespace", metadata: { name: "brand-new", labels: { env: "prod" } },
};
const SETTINGS = { controllerServiceAccounts: ["ack-system/ack-s3"] };

/**
 * A bucket that exists in AWS, in the new namespace. In a namespace labeled `env: prod`, the role of the bucket depends
 * on `tier`.
 */
function bucket(tier: string): JsonObject {
  return {
    apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket",
    metadata: { name: "b", namespace: "brand-new", labels: { tier } },
    status: { ackResourceMetadata: { arn: "arn:aws:s3:::b", ownerAccountID: "777788889999" } },
  };
}

const RELABELED = reviewOf(bucket("shared"), { operation: "UPDATE", oldObject: bucket("other") });

function webhookThatFetches(fetchNamespace: ObjectFetcher, settings: Partial<DecisionSettings> = {}): WebhookUnderTest {
  const fetchers = { Namespace: fetchNamespace };
  return webhookUnderTest(new FakeSource(COMPANY), { ...SETTINGS, ...settings }, undefined, fetchers);
}

/** Sends a review, and advances the clock to the end of the wait for the watch. */
async function review(webhook: WebhookUnderTest, body: JsonObject, path = VALIDATE): Promise<JsonObject> {
  const response = webhook.post(path, body);
  await untilWaiting(webhook.source);
  webhook.clock.fireAll();
  return objectAt((await response).json, "response");
}

function fetcherOf(fetched: FetchedObject, names: string[] = []): ObjectFetcher {
  return async (name) => {
    names.push(name);
    return fetched;
  };
}

test("fetches a namespace that the watch does not report, and runs every check", async (t) => {
  const names: string[] = [];
  const webhook = webhookThatFetches(fetcherOf(PROD, names));
  t.match(await review(webhook, RELABELED), { allowed: false, status: { message: /^ACK-06 / } });
  t.same(names, ["brand-new"]);
  t.match((await webhook.post(VALIDATE, RELABELED)).json, { response: { allowed: false } });
  t.same(names, ["brand-new"], "the inventory contains the namespace");
  t.equal(webhook.clock.pending, 0);
});

test("annotates the first resource of a new namespace that the watch does not report", async (t) => {
  const webhook = webhookThatFetches(fetcherOf(PROD));
  const { patch } = await review(webhook, reviewOf(bucket("shared")), "/mutate/resources");
  t.match(Buffer.from(String(patch), "base64").toString(), "role/shared");
});

test("does not overwrite a namespace that the watch reports during the fetch", async (t) => {
  const webhook = webhookThatFetches(async () => {
    webhook.source.put({ ...PROD, metadata: { name: "brand-new", labels: { env: "test" } } });
    return PROD;
  });
  t.match(await review(webhook, RELABELED), { allowed: true });
  t.equal(webhook.source.inventory.namespaces.labelsOf("brand-new").get("env"), "test");
});

async function deniesUnread(t: Test, webhook: WebhookUnderTest, answer: JsonObject): Promise<void> {
  const message = /^ERR_NAMESPACE_UNREAD: The API server did not return namespace "brand-new".*Retry in a moment/;
  t.match(answer, { allowed: false, status: { message, reason: "Timeout", code: 504 } });
  t.match(webhook.lines.at(-1), { answer: "denied", codes: ["ERR_NAMESPACE_UNREAD"] });
}

test("denies a change with ERR_NAMESPACE_UNREAD if the API server does not return the namespace", async (t) => {
  for (const fetched of ["absent", "unknown"] as const) {
    const webhook = webhookThatFetches(fetcherOf(fetched));
    for (const body of [RELABELED, reviewOf(bucket("shared"))]) {
      await deniesUnread(t, webhook, await review(webhook, body));
    }
  }
});

test("stops waiting for the API server after 1 s, or at the deadline of the request", async (t) => {
  const webhook = webhookThatFetches(() => new Promise(() => {}));
  for (const [timeout, waitMs] of [["3s", 1_000], ["700ms", 600]] as const) {
    webhook.clock.scheduled.length = 0;
    const response = webhook.post(`${VALIDATE}?timeout=${timeout}`, RELABELED);
    await untilWaiting(webhook.source);
    webhook.clock.fireAll();
    while (webhook.clock.pending === 0) await new Promise((done) => setImmediate(done));
    t.same(webhook.clock.scheduled, [100, waitMs]);
    webhook.clock.fireAll();
    await deniesUnread(t, webhook, objectAt((await response).json, "response"));
  }
});

test("allows a change of a resource in an unread namespace if no check could deny the change", async (t) => {
  const webhook = webhookThatFetches(fetcherOf("unknown"));
  const controller = { userInfo: { username: "system:serviceaccount:ack-system:ack-s3", groups: [] } };
  const byController = reviewOf(bucket("shared"), { operation: "UPDATE", oldObject: bucket("other"), ...controller });
  t.match(await review(webhook, byController), { allowed: true }, "the webhook denies no change of a controller");
  const byName = new FakeSource(COMPANY.slice(0, 3));
  const independent = webhookUnderTest(byName, {}, undefined, { Namespace: fetcherOf("unknown") });
  t.match(await review(independent, RELABELED), { allowed: true }, "no selector reads the labels of namespaces");
  t.match(await review(webhookUnderTest(), RELABELED), { allowed: true }, "manifests may lack namespaces");
});

test("with --runtime extended, reads the annotation of a new namespace even if no selector reads labels", async (t) => {
  const named = (name: string): JsonObject => ({
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name },
    spec: { arn: `arn:aws:iam::111122223333:role/${name}`, namespaceSelector: { names: ["brand-new"] } },
  });
  const metadata = { name: "brand-new", annotations: { "ack-role-resolver.io/use-selector": "high" } };
  const fetchNamespace = fetcherOf({ apiVersion: "v1", kind: "Namespace", metadata });
  const source = (): FakeSource => new FakeSource([named("low"), named("high")], "extended");
  const extended = { runtime: "extended" } as const;
  const webhook = webhookUnderTest(source(), extended, undefined, { Namespace: fetchNamespace });
  const { patch } = await review(webhook, reviewOf(bucket("shared")), "/mutate/resources");
  t.match(Buffer.from(String(patch), "base64").toString(), "role/high");
  const unread = webhookUnderTest(source(), extended, undefined, { Namespace: fetcherOf("unknown") });
  t.match(await review(unread, RELABELED), { allowed: false, status: { message: /ERR_NAMESPACE_UNREAD/ } });
});
