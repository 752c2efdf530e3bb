import type { KindName } from "../../../shared/formats/object-meta.ts";
import { type Test, test } from "tap";
import type { DecisionSettings } from "../../../shared/core/context.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import type { Proof } from "../../../shared/sources/source.ts";
import type { FetchedObject } from "../../../webhook/object-fetch.ts";
import { namespaceObject, newBucket, selectorObject } from "../../shared/objects.ts";
import { objectAt, reviewOf } from "../reviews.ts";
import { FakeSource, type WebhookUnderTest, webhookUnderTest } from "../webhook-under-test.ts";

const STALLED = "the watch of buckets.s3.services.k8s.aws stalled";
const STALE = new RegExp(`^ERR_INVENTORY_STALE: This replica may not know the latest changes .*: ${STALLED}\\. Retry`);
const CHECKS: Partial<DecisionSettings> = {
  checkSeverities: new Map([["ACK-09", "deny"], ["NS-02", "deny"], ["AC-05", "deny"]] as const),
};
const KINDS: readonly KindName[] = [
  { group: "services.k8s.aws", kind: "IAMRoleSelector" }, { group: "", kind: "Namespace" },
  { group: "apiextensions.k8s.io", kind: "CustomResourceDefinition" },
  { group: "s3.services.k8s.aws", kind: "Bucket" }, { group: "sqs.services.k8s.aws", kind: "Queue" },
  { group: "infrastructure.cluster.x-k8s.io", kind: "AWSClusterRoleIdentity" },
  { group: "infrastructure.cluster.x-k8s.io", kind: "AWSCluster" }, { group: "", kind: "Secret" },
];
const BASIC = ["IAMRoleSelector", "Namespace", "CustomResourceDefinition"];

const ofTeam = (name: string, spec: JsonObject = {}): JsonObject => selectorObject(name, {
  arn: `arn:aws:iam::111122223333:role/${name}`, namespaceSelector: { labelSelector: { matchLabels: { team: name } } },
  ...spec,
});
const BUCKETS = { resourceTypeSelector: [{ group: "s3.services.k8s.aws", version: "", kind: "Bucket" }] };
const NAMESPACE = namespaceObject("team-a", { team: "a" });
const STORED = [NAMESPACE, ofTeam("a"), ofTeam("b")];

/** A webhook whose source records the kinds of which it has to prove that they are current. */
interface Subject extends WebhookUnderTest {
  /** The kinds that each call asked for. */
  readonly asked: string[][];
  /** The names of the fetched namespaces. */
  readonly fetched: string[];
  /** What the next calls return, and what they do before. Default: current, without asking. */
  proof: () => Proof;
}

/** Jane may use the selector `a`. */
function subjectOf(settings = CHECKS, fetch: (name: string) => FetchedObject = () => NAMESPACE): Subject {
  const source = new FakeSource(STORED);
  const fetched: string[] = [];
  const webhook = webhookUnderTest(source, settings, async (_, { name }) => (name === "a" ? "allowed" : "denied"), {
    Namespace: async (name) => {
      fetched.push(name);
      return fetch(name);
    },
  });
  const subject: Subject = { ...webhook, asked: [], fetched, proof: () => ({ fault: null, hasAsked: false }) };
  source.prove = async (isNeeded) => {
    subject.asked.push(KINDS.filter(isNeeded).map(({ kind }) => kind));
    return subject.proof();
  };
  return subject;
}

async function answer(subject: Subject, path: string, object: JsonObject, request: JsonObject = {}): Promise<string> {
  const review = reviewOf(object, { userInfo: { username: "jane", groups: [] }, ...request });
  const response = objectAt((await subject.post(`/validate/${path}`, review)).json, "response");
  return response["allowed"] === true ? "allowed" : String(objectAt(response, "status")["message"]);
}

const createBucket = (subject: Subject): Promise<string> => answer(subject, "resources", newBucket("b"));

test("fetches the namespace once for each review that checks a right, also if the access is known", async (t) => {
  const subject = subjectOf();
  t.same([await createBucket(subject), await createBucket(subject)], ["allowed", "allowed"]);
  t.same(subject.fetched, ["team-a", "team-a"]);
  t.same(subject.asked, [BASIC, BASIC]);
});

test("decides by the fetched namespace, which was relabeled, or deleted and created again", async (t) => {
  const recreated = { ...objectAt(namespaceObject("team-a", { team: "b" })["metadata"]), uid: "other" };
  for (const state of [namespaceObject("team-a", { team: "b" }), { ...NAMESPACE, metadata: recreated }]) {
    t.match(await createBucket(subjectOf(CHECKS, () => state)), /^ACK-09 .*may not use IAMRoleSelector b/);
  }
});

test("denies a right if the API server does not return the namespace, or not its latest version", async (t) => {
  for (const fetched of ["absent", "unknown"] as const) {
    t.match(await createBucket(subjectOf(CHECKS, () => fetched)), /^ERR_NAMESPACE_UNREAD/, fetched);
  }
  const subject = subjectOf();
  subject.source.accept = () => false;
  t.match(await createBucket(subject), /^ERR_NAMESPACE_UNREAD/);
  t.equal(subject.fetched.length, 2, "the watch can deliver a newer version during the first fetch");
});

test("a namespace that was being deleted does not spare a deletion the check in the one created again", async (t) => {
  const terminating = { ...objectAt(NAMESPACE["metadata"]), deletionTimestamp: "2026-03-01T12:00:00Z" };
  const deletion = { operation: "DELETE", object: null, oldObject: newBucket("b") };
  const subject = subjectOf(CHECKS, () => namespaceObject("team-a", { team: "b" }));
  subject.source.put({ ...NAMESPACE, metadata: terminating });
  t.match(await answer(subject, "resources", newBucket("b"), deletion), /^ACK-09 /);
  const still = subjectOf(CHECKS, () => ({ ...NAMESPACE, metadata: terminating, status: { phase: "Terminating" } }));
  still.source.put({ ...NAMESPACE, metadata: terminating });
  t.equal(await answer(still, "resources", newBucket("b"), deletion), "allowed");
  const userInfo = { username: "system:serviceaccount:kube-system:namespace-controller", groups: [] };
  const before = still.fetched.length;
  t.equal(await answer(still, "resources", newBucket("b"), { ...deletion, userInfo }), "allowed");
  t.equal(still.fetched.length, before, "the cleanup itself does not ask");
});

test("denies each decision on a right while the watches that it depends on have stalled", async (t) => {
  const subject = subjectOf();
  subject.proof = () => ({ fault: STALLED, hasAsked: true });
  t.match(await createBucket(subject), STALE);
  const relabel = { operation: "UPDATE", oldObject: namespaceObject("team-a", { team: "c" }) };
  t.match(await answer(subject, "namespaces", NAMESPACE, relabel), STALE);
  const cluster = { apiVersion: "infrastructure.cluster.x-k8s.io/v1beta2", kind: "AWSCluster" };
  t.match(await answer(subject, "clusters", { ...cluster, metadata: { name: "c", namespace: "team-a" } }), STALE);
  t.same(subject.asked, [BASIC, BASIC, [...BASIC, "AWSClusterRoleIdentity", "AWSCluster"]]);
  t.match(subject.lines.at(-1), { answer: "denied", codes: ["ERR_INVENTORY_STALE"] });
});

test("a check of a right that only warns blocks nobody while the state is not known", async (t) => {
  const subject = subjectOf({ checkSeverities: new Map([["ACK-09", "warn"]] as const) }, () => "unknown");
  subject.proof = () => ({ fault: STALLED, hasAsked: true });
  t.equal(await createBucket(subject), "allowed");
  t.same([subject.asked, subject.fetched], [[BASIC], ["team-a"]]);
  subject.source.inventory.apply([{ type: "remove", group: "", kind: "Namespace", namespace: "", name: "team-a" }]);
  t.match(await createBucket(subject), /^ERR_NAMESPACE_UNREAD/, "the other checks need the namespace");
});

test("needs no proof for a resource if no check of a right is on", async (t) => {
  const subject = subjectOf({});
  subject.proof = () => ({ fault: STALLED, hasAsked: true });
  t.equal(await createBucket(subject), "allowed");
  t.same([subject.asked, subject.fetched], [[], []]);
});

async function deniesSelector(t: Test, object: JsonObject, kinds: readonly string[], request = {}): Promise<void> {
  const subject = subjectOf({});
  subject.proof = () => ({ fault: STALLED, hasAsked: true });
  t.match(await answer(subject, "iamroleselectors", object, request), STALE);
  t.same(subject.asked, [kinds]);
}

test("denies a selector that could share a resource, unless the kinds that it selects are current", async (t) => {
  const shared = { namespaceSelector: { labelSelector: { matchLabels: { team: "a" } } } };
  await deniesSelector(t, ofTeam("third", shared), [...BASIC, "Bucket", "Queue"]);
  await deniesSelector(t, ofTeam("third", { ...shared, ...BUCKETS }), [...BASIC, "Bucket"]);
  await deniesSelector(t, ofTeam("third", shared), [...BASIC, "Bucket", "Queue"], { dryRun: true });
});

test("a selector can share only the kinds that another one selects too, also one that is not stored yet", async (t) => {
  const subject = subjectOf({});
  const ofC = { namespaceSelector: { labelSelector: { matchLabels: { team: "c" } } } };
  t.equal(await answer(subject, "iamroleselectors", ofTeam("c", { ...ofC, ...BUCKETS })), "allowed");
  t.equal(await answer(subject, "iamroleselectors", ofTeam("other", ofC)), "allowed");
  t.same(subject.asked, [BASIC, [...BASIC, "Bucket"]]);
});

test("compares the kinds of at most 100 other selectors", async (t) => {
  const subject = subjectOf({});
  const names = Array.from({ length: 101 }, (_, i) => `s${i}`);
  const ofC = { namespaceSelector: { labelSelector: { matchLabels: { team: "c" } } } };
  subject.source.put(...names.map((name) => ofTeam(name, { ...ofC, ...BUCKETS })));
  t.equal(await answer(subject, "iamroleselectors", ofTeam("other", ofC)), "allowed");
  t.same(subject.asked, [[...BASIC, "Bucket", "Queue"]]);
});

test("a selector that can share no resource needs only the selectors and namespaces", async (t) => {
  await deniesSelector(t, ofTeam("c"), BASIC);
});

test("denies a change or a deletion of a selector unless the kinds that it selected are current", async (t) => {
  const old = ofTeam("a", BUCKETS);
  const object = ofTeam("a", { ...BUCKETS, resourceLabelSelector: { matchLabels: { tier: "gold" } } });
  await deniesSelector(t, object, [...BASIC, "Bucket"], { operation: "UPDATE", oldObject: old });
  await deniesSelector(t, old, [...BASIC, "Bucket"], { operation: "DELETE", object: null, oldObject: old });
});

test("asks for no proof if the selector is denied anyway, or its change has no effect", async (t) => {
  const subject = subjectOf({});
  t.match(await answer(subject, "iamroleselectors", ofTeam("c", { arn: "none" })), /^IRS-/);
  const labeled = { ...ofTeam("a"), metadata: { name: "a", labels: { x: "y" } } };
  const update = { operation: "UPDATE", oldObject: ofTeam("a") };
  t.equal(await answer(subject, "iamroleselectors", labeled, update), "allowed");
  t.same(subject.asked, []);
});

test("runs the checks again on what the API server has answered", async (t) => {
  const subject = subjectOf({});
  subject.proof = () => {
    const hasAsked = subject.asked.length === 1;
    if (hasAsked) subject.source.put(ofTeam("second", { namespaceSelector: { names: ["team-a"] } }), newBucket("b"));
    return { fault: null, hasAsked };
  };
  const third = ofTeam("third", { namespaceSelector: { names: ["team-a"] } });
  t.match(await answer(subject, "iamroleselectors", third), /^IRS-17 .*second/);
});

test("denies a relabeling that adds or removes a selector, unless its kinds are current", async (t) => {
  const subject = subjectOf({});
  const relabel = (team: string): Promise<string> => (
    answer(subject, "namespaces", namespaceObject("team-a", { team }), { operation: "UPDATE", oldObject: NAMESPACE })
  );
  t.equal(await relabel("a"), "allowed");
  t.same(subject.asked, [], "the labels are the same");
  subject.proof = () => ({ fault: STALLED, hasAsked: true });
  t.match(await relabel("b"), STALE);
  t.same(subject.asked, [[...BASIC, "Bucket", "Queue"]]);
  subject.proof = () => {
    subject.source.put({
      ...newBucket("b"), status: { ackResourceMetadata: { arn: "arn:aws:s3:::b", ownerAccountID: "111122223333" } },
    });
    return { fault: null, hasAsked: true };
  };
  t.match(await relabel("none"), /^NS-01 /, "a resource that was not known");
});

const LATE = {
  ...newBucket("b"), status: { ackResourceMetadata: { arn: "arn:aws:s3:::b", ownerAccountID: "444455556666" } },
};

test("a relabeling is checked against a selector that was not known, and its resources", async (t) => {
  const subject = subjectOf({ controllerAccount: "444455556666" });
  const relabel = { operation: "UPDATE", oldObject: namespaceObject("team-a", { team: "x" }) };
  const object = namespaceObject("team-a", { team: "late" });
  subject.source.put(namespaceObject("team-a", { team: "x" }));
  subject.proof = () => ({ fault: STALLED, hasAsked: true });
  t.match(await answer(subject, "namespaces", object, relabel), STALE, "no known selector matches the labels");
  // The watch of selectors answers first. Only then it is known that the watch of Buckets matters.
  subject.asked.length = 0;
  subject.proof = () => {
    const round = subject.asked.length;
    if (round === 1) subject.source.put(ofTeam("late", BUCKETS));
    if (round === 2) subject.source.put(LATE);
    return { fault: null, hasAsked: round <= 2 };
  };
  t.match(await answer(subject, "namespaces", object, relabel), /^NS-01 /);
  t.same(subject.asked, [BASIC, [...BASIC, "Bucket"]]);
});

test("a change of an annotation that chooses the roles needs the resources of every kind", async (t) => {
  const owner = (id: string): JsonObject => (
    { apiVersion: "v1", kind: "Namespace",
      metadata: { name: "team-a", annotations: { "services.k8s.aws/owner-account-id": id } } }
  );
  const subject = subjectOf({ mode: "carm" });
  subject.proof = () => ({ fault: STALLED, hasAsked: true });
  const change = (before: string, after: string): Promise<string> => (
    answer(subject, "namespaces", owner(after), { operation: "UPDATE", oldObject: owner(before) })
  );
  t.match(await change("111122223333", ""), STALE);
  t.same(subject.asked, [[...BASIC, "Bucket", "Queue"]]);
  t.equal(await change("111122223333", "111122223333"), "allowed");
});
