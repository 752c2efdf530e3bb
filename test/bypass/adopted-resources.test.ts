// Attempts to get a role with an AdoptedResource, for which an ACK controller before runtime 0.62 creates a resource.
import { test } from "tap";
import { checkSeveritiesOf, type DecisionSettings } from "../../shared/core/context.ts";
import type { Profile } from "../../shared/core/profiles.ts";
import type { JsonObject } from "../../shared/formats/json.ts";
import type { AccessReviewer } from "../../webhook/access-review.ts";
import { adoptedBucket } from "../fixtures/ack-adopted-resource-crd.ts";
import { namespaceObject } from "../shared/objects.ts";
import { reviewOf } from "../webhook/reviews.ts";
import { FakeSource, type WebhookUnderTest, webhookUnderTest } from "../webhook/webhook-under-test.ts";
import { answerTo, update } from "./answer.ts";

function selector(name: string, namespace: string): JsonObject {
  return {
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name },
    spec: {
      arn: `arn:aws:iam::111122223333:role/${name}`, namespaceSelector: { names: [namespace] },
      resourceLabelSelector: { matchLabels: { tier: name } },
    },
  };
}

const OBJECTS = [
  namespaceObject("team-a"), namespaceObject("team-b"), selector("gold", "team-a"), selector("other", "team-b"),
];
const ADMIN = { userInfo: { username: "root", groups: ["system:masters"] } };
const GOLD = { labels: { tier: "gold" } };
const WAIVED = { annotations: { "ack-role-resolver.io/allow": "ACK-41" } };

interface Attempted extends WebhookUnderTest {
  /** The uses that were asked for, as NAMESPACE/SELECTOR. */
  readonly asked: readonly string[];
}

/** Returns a webhook, with the access reviews of the profile: the user may use nothing, and an administrator all. */
function webhook(profile: Profile = "strict", settings: Partial<DecisionSettings> = {}): Attempted {
  const asked: string[] = [];
  const reviewAccess: AccessReviewer = async ({ username }, { namespace, name }) => {
    asked.push(`${namespace}/${name}`);
    return username === "root" ? "allowed" : "denied";
  };
  const checkSeverities = checkSeveritiesOf([], profile);
  return { ...webhookUnderTest(new FakeSource(OBJECTS), { checkSeverities, ...settings }, reviewAccess), asked };
}

async function send(review: JsonObject, server = webhook()): Promise<string> {
  return answerTo(review, server);
}

test("denies a resource in another namespace in enforce and strict, and warns in observe", async (t) => {
  const review = reviewOf(adoptedBucket({ namespace: "team-b", labels: { tier: "other" } }));
  t.equal(await send(review, webhook("observe")), "allowed ACK-41");
  t.equal(await send(review, webhook("enforce")), "ACK-41");
  t.equal(await send(review), "ACK-09,ACK-41");
  const own = adoptedBucket(GOLD);
  const moved = update(adoptedBucket({ ...GOLD, namespace: "team-b" }), own);
  t.equal(await send(moved, webhook("enforce")), "ACK-41", "an update");
  const held = { deletionTimestamp: "2026-03-01T12:00:00Z", finalizers: ["example.com/hold"] };
  const holding = update(adoptedBucket({ namespace: "team-b" }, held), adoptedBucket({}, held));
  t.equal(await send(holding, webhook("enforce")), "ACK-41", "an update while it is being deleted");
});

test("requires the verb use on the selector of the created resource, in its namespace", async (t) => {
  const server = webhook();
  t.equal(await send(reviewOf(adoptedBucket(GOLD)), server), "ACK-09");
  t.same(server.asked, ["team-a/gold"]);
  t.match(await send(reviewOf(adoptedBucket(GOLD), ADMIN)), /^allowed/);
  const elsewhere = webhook();
  const waived = adoptedBucket({ namespace: "team-b", labels: { tier: "other" } }, WAIVED);
  t.match(await send(reviewOf(waived, ADMIN), elsewhere), /^allowed ACK-41$/, "an administrator can waive it");
  t.same(elsewhere.asked, ["team-b/other"]);
  t.equal(await send(reviewOf(waived)), "ACK-09,ACK-41,WAIVER-01", "a tenant cannot");
});

test("does not judge the labels of the AdoptedResource itself, which the created resource does not get", async (t) => {
  const server = webhook();
  t.equal(await send(reviewOf(adoptedBucket({}, GOLD)), server), "ACK-05,ACK-09");
  t.same(server.asked, ["team-a/ack-role-resolver:default"]);
  t.equal(await send(reviewOf(adoptedBucket({}), ADMIN)), "ACK-05", "strict denies the controllers' own role");
});

test("asks again when a change of the spec selects another role, or of nothing but a label", async (t) => {
  const old = adoptedBucket({ labels: { tier: "none" } });
  t.equal(await send(update(adoptedBucket(GOLD), old)), "ACK-09");
  t.equal(await send(update(adoptedBucket(GOLD, { labels: { a: "b" } }), adoptedBucket(GOLD))), "ACK-09");
  const annotations = { "ack-role-resolver.io/outcome": "selected" };
  t.equal(await send(update(adoptedBucket(GOLD, { annotations }), adoptedBucket(GOLD))), "allowed", "bookkeeping");
  const finalized = adoptedBucket(GOLD, { finalizers: ["finalizers.services.k8s.aws/AdoptedResource"] });
  t.equal(await send(update(finalized, adoptedBucket(GOLD))), "allowed", "the finalizer of the controller");
});

test("denies a planted waiver, and what nobody may plant, also to a tenant with the verb use", async (t) => {
  const annotations = { "ack-role-resolver.io/allow": "ACK-30" };
  t.equal(await send(reviewOf(adoptedBucket({ ...GOLD, annotations })), webhook("enforce")), "WAIVER-01");
  const many = Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [`a${i}`, "x"]));
  t.equal(await send(reviewOf(adoptedBucket({ labels: many })), webhook("enforce")), "ACK-35");
});

test("does not send the API server a text that cannot be the name of a namespace", async (t) => {
  for (const namespace of ["a".repeat(1_000_000), "../secrets", "team-b ", "Team-b"]) {
    const server = webhook();
    t.equal(await send(reviewOf(adoptedBucket({ ...GOLD, namespace })), server), "ACK-05,ACK-09,ACK-41");
    t.same(server.asked, []);
    t.ok(server.lines.every((line) => JSON.stringify(line).length < 5_000));
  }
});
