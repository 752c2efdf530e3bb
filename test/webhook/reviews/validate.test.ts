// What all validating paths share, for an object of each kind. The tests of the checks test their messages.
import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import {
  clusterObject, controllerIdentity, roleIdentity, staticIdentity, withFields,
} from "../../shared/capa-objects.ts";
import { bucketObject, FIRST, kindObject, namespaceObject, selectorFor, withWaiver } from "../../shared/objects.ts";
import { objectAt, reviewOf } from "../reviews.ts";
import { FakeSource, type WebhookUnderTest, webhookUnderTest } from "../webhook-under-test.ts";

const LIST = { list: ["ns1"] };
const TEAM_A = selectorFor("team-a", FIRST, ["team-a"]);
const OWN = { ackResourceMetadata: { arn: "arn:aws:s3:::b", ownerAccountID: "444455556666" } };
const BUCKET = bucketObject({ name: "b", namespace: "team-a" });
const SELECTOR_KIND = kindObject("IAMRoleSelector", "services.k8s.aws", []);
const BUCKET_KIND = kindObject("Bucket", "s3.services.k8s.aws", []);
const USING = { "services.k8s.aws/owner-account-id": "111122223333" };
const MAP = {
  apiVersion: "v1", kind: "ConfigMap", metadata: { name: "ack-role-account-map", namespace: "ack-system" },
  data: { "111122223333": "arn:aws:iam::111122223333:role/a" },
};
const STORED = [
  TEAM_A, namespaceObject("team-a"), bucketObject({ name: "used", namespace: "team-a" }),
  namespaceObject("ns1", { team: "a" }), controllerIdentity(), roleIdentity("r", "controller", LIST),
  staticIdentity("other", { list: ["ns2"] }), clusterObject("c", "role/r"),
  namespaceObject("payments", {}, USING), bucketObject({ name: "ledger", namespace: "payments" }),
];
const CAPA = "system:serviceaccount:capa-system:capa-controller-manager";
const CONTROLLER = "system:serviceaccount:ack-system:ack-s3-controller";
const COLLECTOR = "system:serviceaccount:kube-system:generic-garbage-collector";
const NAMESPACE_CONTROLLER = "system:serviceaccount:kube-system:namespace-controller";

interface Row {
  readonly path: string;
  readonly valid: JsonObject;
  /** The object with a fault, and the check that denies it. */
  readonly faulty: JsonObject;
  readonly code: string;
  /** The users whose faulty objects cause only a warning. */
  readonly warned: readonly string[];
  readonly mode?: "carm";
}

const ROWS: Readonly<Record<string, Row>> = {
  selector: {
    path: "iamroleselectors", valid: selectorFor("new", FIRST, ["elsewhere"]),
    faulty: { ...selectorFor("new", FIRST, ["elsewhere"]), spec: { arn: "x", namespaceSelector: { names: ["a"] } } },
    code: "IRS-02", warned: [],
  },
  resource: {
    path: "resources", valid: BUCKET,
    faulty: withFields(BUCKET, "metadata", { annotations: { "services.k8s.aws/deletion-policy": "Delete" } }),
    code: "ACK-11", warned: [CONTROLLER],
  },
  identity: {
    path: "identities", valid: roleIdentity("x", "controller", LIST),
    faulty: roleIdentity("x", "controller", { namespaces: ["ns1"] }), code: "CI-09", warned: [CAPA],
  },
  cluster: {
    path: "clusters", valid: clusterObject("n", "role/r"), faulty: clusterObject("n", "static/other"), code: "AC-02",
    warned: [CAPA],
  },
  namespace: {
    path: "namespaces", valid: namespaceObject("new"),
    faulty: namespaceObject("new", {}, { "services.k8s.aws/default-region": "Frankfurt" }), code: "NS-07", warned: [],
  },
  "CARM map": {
    path: "configmaps", valid: MAP, faulty: { ...MAP, data: { "111122223333": "" } }, code: "CM-01", warned: [],
    mode: "carm",
  },
};

function webhookOf(source = new FakeSource(STORED), mode?: "carm"): WebhookUnderTest {
  return webhookUnderTest(source, {
    controllerServiceAccounts: ["ack-system/ack-s3-controller"], ...(mode === undefined ? {} : { mode }),
  });
}

function unloaded(mode?: "carm"): WebhookUnderTest {
  const source = new FakeSource();
  source.unload();
  return webhookOf(source, mode);
}

const by = (username: string, ...groups: readonly string[]): JsonObject => ({ userInfo: { username, groups } });
const deletion = (object: JsonObject, request: JsonObject = {}): JsonObject => (
  reviewOf(object, { operation: "DELETE", object: null, oldObject: object, ...request })
);
const update = (object: JsonObject, oldObject: JsonObject, request: JsonObject = {}): JsonObject => (
  reviewOf(object, { operation: "UPDATE", oldObject, ...request })
);

async function post(webhook: WebhookUnderTest, path: string, review: JsonObject): Promise<JsonObject> {
  return objectAt((await webhook.post(`/validate/${path}`, review)).json, "response");
}

const denies = (code: string): object => ({ allowed: false, status: { code: 422, message: new RegExp(`^${code} `) } });
const warns = (code: string): object => ({ allowed: true, warnings: [new RegExp(`^${code} `)] });
const SKIPPED = { uid: "u-1", allowed: true };

for (const [kind, { path, valid, faulty, code, warned, mode }] of Object.entries(ROWS)) {
  test(`denies a faulty ${kind} with the check and its field, and allows a valid one`, async (t) => {
    const webhook = webhookOf(undefined, mode);
    t.match(await post(webhook, path, reviewOf(valid)), { allowed: true });
    for (const review of [reviewOf(faulty), reviewOf(faulty, { dryRun: true }), update(faulty, valid)]) {
      const response = await post(webhook, path, review);
      t.match(response, denies(code));
      t.match(objectAt(response, "status", "details"), { causes: [{ field: /./, message: new RegExp(`^${code} `) }] });
      t.match(webhook.lines.at(-1), { path: `/validate/${path}`, answer: "denied", codes: [code] });
    }
    for (const user of warned) t.match(await post(webhook, path, reviewOf(faulty, by(user))), warns(code), user);
    const namesake = "system:serviceaccount:team-a:ack-s3-controller";
    t.match(await post(webhook, path, reviewOf(faulty, by(namesake))), denies(code), namesake);
  });

  test(`skips changes of a ${kind} that no check needs to read`, async (t) => {
    const webhook = webhookOf(undefined, mode);
    const finalized = withFields(faulty, "metadata", { finalizers: ["x"] });
    const other = { ...faulty, apiVersion: "example.com/v1", kind: "Other" };
    for (const [reason, review] of [
      ["bookkeeping only", update(finalized, faulty)], ["no object", reviewOf(faulty, { object: null })],
      ["no object", deletion(faulty, { oldObject: null })], ["not managed", reviewOf(other)],
    ] as const) {
      t.strictSame(await post(webhook, path, review), SKIPPED, reason);
      t.match(webhook.lines.at(-1), { answer: "skipped", reason });
    }
  });

  test(`before the inventory is loaded, returns ERR_NOT_READY for a ${kind}, but skips exemptions`, async (t) => {
    const webhook = unloaded(mode);
    for (const review of [reviewOf(valid), deletion(valid)]) {
      const { status, json } = await webhook.post(`/validate/${path}`, review);
      t.match([status, json], [500, {
        kind: "Status", message: "ERR_NOT_READY: The inventory is not loaded yet. Retry in a moment.",
      }]);
    }
    t.strictSame(await post(webhook, path, update(faulty, faulty)), SKIPPED, "an update without a change");
  });
}

test("before the inventory is loaded, denies a malformed selector", async (t) => {
  t.match(await post(unloaded(), "iamroleselectors", reviewOf({ ...TEAM_A, spec: { arn: "x" } })), {
    allowed: false, status: { details: { causes: [{ message: /^IRS-02 / }, { message: /^IRS-15 / }] } },
  });
});

/** Objects whose deletion is denied because they are in use, and the users who are only warned. */
const IN_USE: readonly (readonly [path: string, object: JsonObject, code: string, ...warned: string[]])[] = [
  ["iamroleselectors", TEAM_A, "IRS-30"],
  ["iamroleselectors", SELECTOR_KIND, "IRS-34"],
  ["resources", BUCKET_KIND, "ACK-34"],
  ["resources", { ...BUCKET, status: OWN }, "ACK-32", COLLECTOR, NAMESPACE_CONTROLLER],
  ["identities", roleIdentity("r", "controller", LIST), "CI-31"],
  ["configmaps", MAP, "CM-08", NAMESPACE_CONTROLLER],
];

for (const [path, object, code, ...warned] of IN_USE) {
  test(`denies the deletion of an object in use with ${code}, and warns ${warned.length} controllers`, async (t) => {
    const webhook = webhookOf(undefined, path === "configmaps" ? "carm" : undefined);
    for (const user of ["jane", COLLECTOR, NAMESPACE_CONTROLLER, "system:serviceaccount:x:generic-garbage-collector"]) {
      const response = await post(webhook, path, deletion(object, by(user)));
      t.match(response, warned.includes(user) ? warns(code) : denies(code), user);
      t.match(webhook.lines.at(-1), { operation: "DELETE", user, codes: [code] });
    }
    const review = deletion(object);
    const { name: _none, ...request } = objectAt(review, "request");
    const name = objectAt(object, "metadata")["name"];
    const unnamed = await post(webhook, path, { ...review, request });
    t.equal(objectAt(unnamed, "status", "details")["name"], name, "the name comes from the stored object");
    const waived = withWaiver(object, code);
    t.match(await post(webhook, path, deletion(waived)), denies(code), "the waiver of another user");
    t.match(await post(webhook, path, deletion(waived, by("admin", "system:masters"))), warns(code));
    const deleting = withFields(object, "metadata", { deletionTimestamp: "2026-03-01T12:00:00Z" });
    t.strictSame(await post(webhook, path, deletion(deleting)), SKIPPED);
    t.match(webhook.lines.at(-1), { reason: "being deleted" });
  });
}

test("denies a waiver on a CustomResourceDefinition, even before the inventory is loaded", async (t) => {
  for (const [path, definition, code] of [
    ["iamroleselectors", SELECTOR_KIND, "IRS-34"], ["resources", BUCKET_KIND, "ACK-34"],
  ] as const) {
    const waived = withWaiver(definition, code);
    for (const webhook of [webhookOf(), unloaded()]) {
      for (const review of [reviewOf(waived), update(waived, definition)]) {
        const message = new RegExp(`^WAIVER-01 .* may not waive "${code}"`);
        t.match(await post(webhook, path, review), { allowed: false, status: { message } });
      }
      t.match(await post(webhook, path, update(waived, waived)), { allowed: true });
      t.match(await post(webhook, path, update(definition, waived)), { allowed: true });
      t.match(await post(webhook, path, reviewOf(waived, by("admin", "system:masters"))), { allowed: true });
    }
  }
});

test("reviews a definition only on the path of its kind", async (t) => {
  const webhook = webhookOf();
  for (const [path, definition] of [
    ["iamroleselectors", BUCKET_KIND], ["resources", SELECTOR_KIND],
    ["resources", kindObject("Bucket", "example.com", [])],
  ] as const) {
    t.strictSame(await post(webhook, path, deletion(definition)), SKIPPED);
    t.equal(webhook.lines.at(-1)?.["reason"], "not managed");
  }
  t.match(await post(webhook, "resources", deletion(kindObject("Queue", "sqs.services.k8s.aws", []))), SKIPPED);
  t.same(webhook.clock.scheduled, [], "a definition has no namespace to wait for");
});

test("denies a change with ERR_REQUEST_DEADLINE if its review takes longer than the timeout", async (t) => {
  const webhook = webhookOf();
  const path = "iamroleselectors?timeout=3s";
  webhook.requestMs = 2_899;
  t.match(await post(webhook, path, deletion(TEAM_A)), denies("IRS-30"));
  webhook.requestMs = 2_900;
  const message = /^ERR_REQUEST_DEADLINE: The change affects too many objects to check/;
  t.match(await post(webhook, path, deletion(TEAM_A)), {
    allowed: false, status: { status: "Failure", message, reason: "Timeout", code: 504 },
  });
  t.match(webhook.lines.at(-1), { answer: "denied", outcome: "error", codes: ["ERR_REQUEST_DEADLINE"] });
});
