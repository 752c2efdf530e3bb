// Attempts to get another role with the annotation use-selector (--runtime extended).
import { test } from "tap";
import type { DecisionSettings } from "../../shared/core/context.ts";
import type { JsonObject } from "../../shared/formats/json.ts";
import type { AccessReviewer } from "../../webhook/access-review.ts";
import { namespaceObject } from "../shared/objects.ts";
import { objectAt, reviewOf } from "../webhook/reviews.ts";
import { answerTo, update } from "./answer.ts";
import { FakeSource, type WebhookUnderTest, webhookUnderTest } from "../webhook/webhook-under-test.ts";

const KEY = "ack-role-resolver.io/use-selector";
const use = (name: string): JsonObject => ({ annotations: { [KEY]: name } });
const DELETING = { deletionTimestamp: "2026-03-01T12:00:00Z", finalizers: ["example.com/hold"] };

function selector(name: string, namespaces: readonly string[], account = "111122223333"): JsonObject {
  return {
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name },
    spec: { arn: `arn:aws:iam::${account}:role/${name}`, namespaceSelector: { names: namespaces } },
  };
}

/** Returns a Bucket that exists in AWS, in account 111122223333. */
function bucket(metadata: JsonObject = {}, rest: JsonObject = {}): JsonObject {
  return {
    apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket",
    metadata: { name: "b", namespace: "tenant", ...metadata }, spec: { name: "b" },
    status: { ackResourceMetadata: { arn: "arn:aws:s3:::b", ownerAccountID: "111122223333" } },
    ...rest,
  };
}

const OBJECTS = [
  namespaceObject("tenant"), namespaceObject("platform"), selector("low", ["tenant"]), selector("high", ["tenant"]),
  selector("admin", ["platform"]), selector("remote", ["tenant"], "444455556666"), bucket(use("low")),
];

/** Returns a webhook with overlapping selectors: a tenant may choose between low, high and remote, but not admin. */
function webhook(
  settings: Partial<DecisionSettings> = {}, reviewAccess?: AccessReviewer, objects: readonly JsonObject[] = OBJECTS,
): WebhookUnderTest {
  const source = new FakeSource(objects, "extended");
  return webhookUnderTest(source, { runtime: "extended", ...settings }, reviewAccess);
}

async function send(review: JsonObject, server = webhook()): Promise<string> {
  return answerTo(review, server);
}

/** Returns the patch with which the webhook annotates the object. */
async function annotated(object: JsonObject, server = webhook()): Promise<string> {
  const response = objectAt((await server.post("/mutate/resources", reviewOf(object))).json, "response");
  return Buffer.from(String(response["patch"]), "base64").toString();
}

test("a resource has no role if its annotation names a selector that does not select the resource", async (t) => {
  for (const name of ["admin", "missing", "", "low,admin", "low ", "*", "../admin"]) {
    const written = await annotated(bucket(use(name)));
    t.match(written, /"refused"/, name);
    t.notMatch(written, /role-arn/);
    t.match(await send(reviewOf(bucket(use(name), { status: {} }))), /^allowed ACK-03/);
    t.equal(await send(update(bucket(use(name)), bucket(use("low")))), "ACK-06", "a planted name");
  }
  t.match(await annotated(bucket(use("high"))), /role\/high/);
});

test("denies an update that changes only the annotation use-selector", async (t) => {
  t.equal(await send(update(bucket(use("low")), bucket(use("low")))), "allowed");
  t.equal(await send(update(bucket(use("high")), bucket(use("low")))), "ACK-06");
  t.equal(await send(update(bucket(use("remote")), bucket(use("low")))), "ACK-06,ACK-07");
  t.equal(await send(update(bucket(use("high")), bucket())), "ACK-06", "the conflict does not show the role");
  const withFinalizer = bucket({ ...use("high"), finalizers: ["x"] });
  t.equal(await send(update(withFinalizer, bucket(use("low")))), "ACK-06", "with an exempt change");
  const emptied = bucket(use("high"), { status: {} });
  t.equal(await send(update(emptied, bucket(use("low")))), "ACK-06", "the submitted status has no effect");
  t.equal(await send(update(bucket(use("high")), bucket(use("low")), { subResource: "status" })), "ACK-06");
});

test("denies a change of the annotation use-selector if the resource is being deleted", async (t) => {
  const stored = bucket({ ...use("low"), ...DELETING });
  t.equal(await send(update(bucket({ ...use("high"), ...DELETING }), stored)), "ACK-06");
  t.equal(await send(update(bucket({ ...use("low"), ...DELETING, finalizers: [] }), stored)), "allowed");
  const review = update(bucket({ ...use("low"), ...DELETING, labels: { a: "b" } }), stored);
  const response = objectAt((await webhook().post("/mutate/resources", review)).json, "response");
  t.match(Buffer.from(String(response["patch"]), "base64").toString(), /role\/low/, "the webhook still annotates");
});

test("denies each step of a role change during which the resource is refused", async (t) => {
  const single = [...OBJECTS.slice(0, 3), selector("high", ["platform"])];
  const server = (): WebhookUnderTest => webhook({}, undefined, single);
  t.equal(await send(update(bucket(use("high")), bucket()), server()), "ACK-06", "plants a name");
  t.match(await send(update(bucket(), bucket(use("high"))), server()), "allowed", "removes a planted name");
  const labeled = (name: string): JsonObject => {
    const one = selector(name, ["tenant"]);
    return { ...one, spec: { ...objectAt(one, "spec"), resourceLabelSelector: { matchLabels: { tier: name } } } };
  };
  const tiers = (): WebhookUnderTest => (
    webhook({}, undefined, [namespaceObject("tenant"), labeled("low"), labeled("high")])
  );
  const stuck = (tier: string): JsonObject => bucket({ ...use("missing"), labels: { tier } });
  const low = bucket({ labels: { tier: "low" } });
  t.equal(await send(update(stuck("high"), low), tiers()), "ACK-06", "both at once");
  t.equal(await send(update(stuck("low"), low), tiers()), "ACK-06", "first the annotation");
  t.equal(await send(update(stuck("high"), stuck("low")), tiers()), "ACK-06", "then the label");
});

test("denies a role change by the annotation use-selector despite a waiver", async (t) => {
  const waived = bucket({ annotations: { [KEY]: "high", "ack-role-resolver.io/allow": "ACK-06" } });
  const admin = { userInfo: { username: "root", groups: ["system:masters"] } };
  t.equal(await send(update(waived, bucket(use("low")), admin)), "ACK-06");
});

test("the annotations that record a resolution never choose a selector", async (t) => {
  const forged = { "ack-role-resolver.io/selector": "high", "ack-role-resolver.io/outcome": "selected" };
  t.match(await annotated(bucket({ annotations: forged })), /"conflict"/);
  t.match(await send(update(bucket({ annotations: { ...forged, [KEY]: "high" } }), bucket(use("low")))), /^ACK-06/);
});

test("denies a change of a namespace annotation that moves resources, also through subresources", async (t) => {
  const tenant = (name: string | null): JsonObject => (
    namespaceObject("tenant", {}, name === null ? {} : { [KEY]: name })
  );
  const objects = [...OBJECTS.slice(1, -1), tenant("low"), bucket()];
  const post = (to: string | null, request: JsonObject = {}): Promise<string> => (
    send(update(tenant(to), tenant("low"), { namespace: "tenant", ...request }), webhook({}, undefined, objects))
  );
  t.equal(await post("remote"), "NS-01", "another account");
  t.equal(await post(null), "NS-01", "a conflict");
  t.equal(await post("admin"), "NS-01", "no role");
  t.match(await post("high"), /^allowed NS-01/, "another role of the same account, as with labels");
  t.equal(await post("remote", { subResource: "status" }), "NS-01");
  t.equal(await post("remote", { subResource: "finalize" }), "NS-01");
});

test("with access reviews, denies an annotation that names a selector which the requester may not use", async (t) => {
  const severities = new Map([["ACK-09", "deny"], ["NS-02", "deny"]] as const);
  const asked: string[] = [];
  const reviewAccess: AccessReviewer = async (_, { name }) => {
    asked.push(name);
    return name === "low" ? "allowed" : "denied";
  };
  const post = (review: JsonObject): Promise<string> => (
    send(review, webhook({ checkSeverities: severities }, reviewAccess))
  );
  const fresh = (metadata: JsonObject): JsonObject => bucket(metadata, { status: {} });
  t.match(await post(reviewOf(fresh(use("low")))), /^allowed/);
  t.same(asked, ["low"], "one review");
  t.equal(await post(reviewOf(fresh(use("high")))), "ACK-09");
  t.equal(await post(reviewOf(fresh(use("planned")))), "ACK-09", "a selector that may exist later");
  t.equal(await post(reviewOf(fresh({}))), "ACK-09", "a conflict");
  t.match(await post(update(fresh({ ...use("low"), labels: { a: "b" } }), fresh(use("low")))), /^allowed/);
  t.equal(await post(update(fresh(use("low")), fresh(use("high")))), "ACK-09", "the previous selector counts too");
  const named = (name: string): JsonObject => reviewOf(namespaceObject("new", {}, { [KEY]: name }));
  t.equal(await post(named("admin")), "NS-02");
  t.match(await post(named("low")), /^allowed/);
});

test("denies the deletion of a selector that a resource names, even if another selector selects it", async (t) => {
  const low = selector("low", ["tenant"]);
  const deletion = reviewOf(low, { operation: "DELETE", object: null, oldObject: low });
  t.equal(await send(deletion), "IRS-30");
  const high = selector("high", ["tenant"]);
  t.match(await send(reviewOf(high, { operation: "DELETE", object: null, oldObject: high })), /^allowed/, "not named");
});

test("with --runtime ack, the annotation use-selector has no effect", async (t) => {
  const server = (): WebhookUnderTest => webhookUnderTest(new FakeSource(OBJECTS));
  t.match(await annotated(bucket(use("high")), server()), /"conflict"/);
  t.match(await send(reviewOf(bucket(use("high"), { status: {} })), server()), /^allowed ACK-03 ACK-36/);
  t.match(await send(reviewOf(selector("new", ["tenant"])), server()), /^IRS-17/, "the bucket is in conflict");
});
