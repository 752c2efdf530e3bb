import { resolve } from "../../../shared/core/resolve.ts";
import type { Resolution } from "../../../shared/core/resolution.ts";
import { test } from "tap";
import type { DecisionSettings } from "../../../shared/core/context.ts";
import { queryOf } from "../../../shared/core/ack-resource.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import {
  ACCOUNT_MAP, bucketObject, inventoryWith, mapObject, namespaceObject, ROLE, selectorObject, SETTINGS_BY_DEFAULT,
} from "../objects.ts";
import { testRows } from "../rows.ts";

// resolve.property.test.ts compares the outcomes and the selectors with a second implementation.
const OTHER = "arn:aws:iam::444455556666:role/b";

function resolved(
  objects: readonly JsonObject[], resource: JsonObject, settings: Partial<DecisionSettings> = {},
): Resolution {
  const inventory = inventoryWith(objects, { runtime: settings.runtime ?? "ack", origin: "file" });
  return resolve(inventory, queryOf(resource, "default"), { ...SETTINGS_BY_DEFAULT, ...settings });
}

const inTeamA = (name: string, arn = ROLE): JsonObject =>
  selectorObject(name, { arn, namespaceSelector: { names: ["team-a"] } }, { resourceVersion: "41" });
const exists = (metadata: JsonObject): JsonObject => ({ status: { ackResourceMetadata: metadata } });

test("returns the role, account, name and resourceVersion of the selector if only one selector matches", (t) => {
  const other = selectorObject("b", { arn: OTHER, namespaceSelector: { names: ["team-b"] } });
  t.same(resolved([inTeamA("a"), other], bucketObject()), {
    outcome: "selected", via: "selector", selectors: [{ name: "a", resourceVersion: "41", roleARN: ROLE }],
    roleARN: ROLE, accountID: "111122223333", region: null, code: null,
    message: "IAMRoleSelector a selects the resource.",
  });
  t.end();
});

test("reports a conflict if several selectors match, even if their roles are equal, and sorts their names", (t) => {
  t.same(resolved([inTeamA("z"), inTeamA("b.c"), inTeamA("b")], bucketObject(), { region: "eu-west-1" }), {
    outcome: "conflict", via: null, roleARN: null, accountID: null,
    selectors: ["b", "b.c", "z"].map((name) => ({ name, resourceVersion: "41", roleARN: ROLE })),
    region: { value: "eu-west-1", from: "controller" }, code: "ERR_SELECTOR_CONFLICT",
    message: "Cannot determine which IAMRoleSelector to use. Conflicting IAMRoleSelectors: [b, b.c, z]",
  });
  t.end();
});

test("falls back to the controller's own role if no selector selects the resource", (t) => {
  const unknown = {
    outcome: "default", via: null, selectors: [], roleARN: null, accountID: null, region: null, code: null,
    message: "No IAMRoleSelector selects the resource, so the controller's own role is used.",
  };
  const [controllerRole, controllerAccount] = [OTHER, "777788889999"];
  t.same(resolved([], bucketObject()), unknown);
  const ofRole = { ...unknown, roleARN: OTHER, accountID: "444455556666" };
  t.same(resolved([], bucketObject(), { controllerRole }), ofRole);
  t.same(resolved([], bucketObject(), { controllerAccount }), { ...unknown, accountID: controllerAccount });
  const both = { ...unknown, roleARN: OTHER, accountID: controllerAccount };
  t.same(resolved([], bucketObject(), { controllerAccount, controllerRole }), both);
  t.end();
});

test("ignores malformed selectors; with --runtime ack, uses an ARN that only the webhook denies", (t) => {
  const user = "arn:aws:iam::111122223333:user/jane";
  const ofUser = resolved([selectorObject("a", { arn: user })], bucketObject());
  t.match(ofUser, { outcome: "selected", roleARN: user, accountID: "111122223333" });
  const ofBucket = resolved([selectorObject("a", { arn: "arn:aws:s3:::bucket" })], bucketObject());
  t.match(ofBucket, { outcome: "selected", accountID: null });
  t.equal(resolved([selectorObject("a", { arn: user })], bucketObject(), { runtime: "extended" }).outcome, "default");
  t.end();
});

const SELECTS = "IAMRoleSelector a selects the resource.";
const DRIFT = `${SELECTS} Drift: the status records`;
const inAccount = "account 444455556666, but its role is in account 111122223333";
testRows("appends a drift notice to the message if the status records another account or region",
  ([metadata, annotations = {}]: [JsonObject, JsonObject?]) =>
    [resolved([inTeamA("a")], bucketObject({ annotations }, exists(metadata)), { region: "eu-west-1" }).message], [
    ["another account", [{ ownerAccountID: "444455556666" }], `${DRIFT} ${inAccount}.`],
    ["another region", [{ region: "us-east-1" }], `${DRIFT} region us-east-1, but its desired region is eu-west-1.`],
    ["both", [{ ownerAccountID: "444455556666", region: "us-east-1" }, { "services.k8s.aws/region": "eu-north-1" }],
      `${DRIFT} ${inAccount}; the status records region us-east-1, but its desired region is eu-north-1.`],
    ["neither", [{ ownerAccountID: "111122223333", region: "eu-west-1" }], SELECTS],
    ["the resource does not exist yet", [{ ownerAccountID: "", region: "" }], SELECTS],
    ["a control character", [{ region: "a\nb" }],
      `${DRIFT} region a\\u000ab, but its desired region is eu-west-1.`],
  ]);

test("reports drift from the controller's account only if the account is known", (t) => {
  const bucket = bucketObject({}, exists({ ownerAccountID: "1", region: "us-east-1" }));
  const known = resolved([], bucket, { controllerAccount: "777788889999" }).message;
  t.match(known, /Drift: the status records account 1, but its role is in account 777788889999\.$/);
  t.notMatch(resolved([], bucket).message, /Drift/);
  t.end();
});

const KEY = "a\u001b[31m";
testRows("escapes control characters of CARM keys in the message", (maps: readonly JsonObject[]) => {
  const namespace = namespaceObject("team-a", {}, { "services.k8s.aws/owner-account-id": KEY });
  return [resolved([namespace, ...maps], bucketObject(), { mode: "carm" }).message];
}, [
  ["no map", [],
    'ConfigMap ack-system/ack-role-account-map does not exist, so key "a\\u001b[31m" has no role.'],
  ["a role", [mapObject(ACCOUNT_MAP, { [KEY]: ROLE })],
    'The role comes from key "a\\u001b[31m" of the account map.'],
  ["an empty value", [mapObject(ACCOUNT_MAP, { [KEY]: "" })],
    'ConfigMap ack-system/ack-role-account-map has no role for key "a\\u001b[31m".'],
]);

test("reads the region from the status, the resource, the namespace and the controller, in this order", (t) => {
  const namespace = namespaceObject("team-a", {}, { "services.k8s.aws/default-region": "n-1" });
  const own = (region: string): JsonObject => ({ annotations: { "services.k8s.aws/region": region } });
  const region = (objects: readonly JsonObject[], resource: JsonObject): unknown =>
    resolved(objects, resource, { region: "c-1" }).region;
  t.same(region([namespace], bucketObject(own("r-1"), exists({ region: "s-1" }))), { value: "s-1", from: "status" });
  t.same(region([namespace], bucketObject(own("r-1"))), { value: "r-1", from: "resource" });
  t.same(region([namespace], bucketObject(own(""))), { value: "n-1", from: "namespace" });
  t.same(region([], bucketObject()), { value: "c-1", from: "controller" });
  t.equal(resolved([], bucketObject()).region, null);
  t.end();
});

test("overrides a forged name label of a namespace", (t) => {
  const matchLabels = { "kubernetes.io/metadata.name": "team-a" };
  const selector = selectorObject("a", { arn: ROLE, namespaceSelector: { labelSelector: { matchLabels } } });
  const outcomeIn = (namespace: string, forged: string): string => {
    const object = namespaceObject(namespace, { "kubernetes.io/metadata.name": forged });
    return resolved([selector, object], bucketObject({ namespace })).outcome;
  };
  t.equal(outcomeIn("team-a", "team-b"), "selected");
  t.equal(outcomeIn("team-b", "team-a"), "default");
  t.end();
});

test("reads a label key such as __proto__ only if the object sets the label", (t) => {
  for (const key of ["constructor", "__proto__", "toString", "hasOwnProperty"]) {
    // The key __proto__ becomes an own key, as with JSON.parse.
    const matchLabels: JsonObject = Object.fromEntries([[key, "x"]]);
    const selector = selectorObject("a", { arn: ROLE, resourceLabelSelector: { matchLabels } });
    t.equal(resolved([selector], bucketObject()).outcome, "default", key);
    t.equal(resolved([selector], bucketObject({ labels: matchLabels })).outcome, "selected", key);
  }
  t.end();
});

test("reads a resource, and uses the default namespace if the resource has no namespace", (t) => {
  t.same(queryOf(bucketObject({ namespace: undefined, name: undefined }), "team-b"), {
    group: "s3.services.k8s.aws", version: "v1alpha1", kind: "Bucket", namespace: "team-b", name: null,
    labels: new Map(), annotations: new Map(), status: { ownerAccountID: null, region: null },
  });
  t.same(queryOf({ metadata: { labels: { a: 1, b: "c" } }, status: "x" }, "d").labels, new Map([["b", "c"]]));
  t.end();
});
