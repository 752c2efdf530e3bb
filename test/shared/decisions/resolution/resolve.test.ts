import { test } from "tap";
import type { DecisionSettings } from "../../../../shared/contract/context.ts";
import { Inventory } from "../../../../shared/inventory/inventory.ts";
import { queryOf } from "../../../../shared/contract/ack-resource.ts";
import type { JsonObject } from "../../../../shared/formats/json.ts";
import { isACKGroup } from "../../../../shared/contract/ack-groups.ts";
import { type Resolution, resolve } from "../../../../shared/resolution/resolve.ts";
import {
  bucketObject, kindObject, namespaceObject, put, ROLE, selectorObject, SETTINGS_BY_DEFAULT,
} from "../objects.ts";

const OTHER = "arn:aws:iam::444455556666:role/b";

function resolved(
  objects: readonly JsonObject[],
  resource: JsonObject,
  settings: Partial<DecisionSettings> = {},
): Resolution {
  const inventory = new Inventory({ runtime: settings.runtime ?? "ack", origin: "file" });
  inventory.apply(objects.map(put));
  return resolve(inventory, queryOf(resource, "default"), { ...SETTINGS_BY_DEFAULT, ...settings });
}

const inTeamA = (name: string, arn = ROLE): JsonObject =>
  selectorObject(name, { arn, namespaceSelector: { names: ["team-a"] } }, { resourceVersion: "41" });
const exists = (metadata: JsonObject): JsonObject => ({ status: { ackResourceMetadata: metadata } });

test("returns the role, account, name and resourceVersion of the selector if only one selector matches", (t) => {
  t.same(
    resolved(
      [inTeamA("a"), selectorObject("b", { arn: OTHER, namespaceSelector: { names: ["team-b"] } })],
      bucketObject(),
    ),
    {
      outcome: "selected",
      via: "selector",
      selectors: [{ name: "a", resourceVersion: "41", roleARN: ROLE }],
      roleARN: ROLE,
      accountID: "111122223333",
      region: null,
      code: null,
      message: "IAMRoleSelector a selects the resource.",
    },
  );
  t.end();
});

test("reports a conflict if several selectors match, even if their roles are equal, and sorts their names", (t) => {
  const ten = Array.from({ length: 11 }, (_, i) => inTeamA(`s${i}`));
  const conflict = resolved([inTeamA("z"), inTeamA("b.c"), inTeamA("b")], bucketObject(), { region: "eu-west-1" });
  t.same(conflict, {
    outcome: "conflict",
    via: null,
    selectors: ["b", "b.c", "z"].map((name) => ({ name, resourceVersion: "41", roleARN: ROLE })),
    roleARN: null,
    accountID: null,
    region: { value: "eu-west-1", from: "controller" },
    code: "ERR_SELECTOR_CONFLICT",
    message: "Cannot determine which IAMRoleSelector to use. Conflicting IAMRoleSelectors: [b, b.c, z]",
  });
  t.equal(resolved(ten, bucketObject()).selectors.length, 11);
  t.end();
});

test("lists a selector once if several of its type entries match", (t) => {
  const resourceTypeSelector = [{ group: "s3.services.k8s.aws" }, { kind: "Bucket" }, { version: "v1alpha1" }];
  t.equal(resolved([selectorObject("a", { arn: ROLE, resourceTypeSelector })], bucketObject()).outcome, "selected");
  t.equal(
    resolved(
      [
        selectorObject("a", {
          arn: ROLE,
          resourceTypeSelector: [{ group: "s3.services.k8s.aws" }, { group: "sqs.services.k8s.aws" }],
        }),
      ],
      bucketObject(),
    ).outcome,
    "selected",
  );
  t.end();
});

test("falls back to the controller's own role if no selector selects the resource", (t) => {
  const message = "No IAMRoleSelector selects the resource, so the controller's own role is used.";
  const unknown = {
    outcome: "default",
    via: null,
    selectors: [],
    roleARN: null,
    accountID: null,
    region: null,
    code: null,
    message,
  };
  t.same(resolved([], bucketObject()), unknown);
  t.same(resolved([], bucketObject(), { controllerRole: OTHER }), {
    ...unknown,
    roleARN: OTHER,
    accountID: "444455556666",
  });
  t.same(resolved([], bucketObject(), { controllerAccount: "777788889999" }), {
    ...unknown,
    accountID: "777788889999",
  });
  t.same(resolved([], bucketObject(), { controllerAccount: "777788889999", controllerRole: OTHER }), {
    ...unknown,
    roleARN: OTHER,
    accountID: "777788889999",
  });
  t.end();
});

test("ignores malformed selectors; with --runtime ack, uses an ARN that only the webhook denies", (t) => {
  t.equal(resolved([selectorObject("a", { arn: "typo" })], bucketObject()).outcome, "default");
  const user = "arn:aws:iam::111122223333:user/jane";
  t.match(resolved([selectorObject("a", { arn: user })], bucketObject()), {
    outcome: "selected",
    roleARN: user,
    accountID: "111122223333",
  });
  t.match(resolved([selectorObject("a", { arn: "arn:aws:s3:::bucket" })], bucketObject()), {
    outcome: "selected",
    accountID: null,
  });
  t.equal(resolved([selectorObject("a", { arn: user })], bucketObject(), { runtime: "extended" }).outcome, "default");
  t.end();
});

test("appends a drift notice to the message if the resource exists in another account or region", (t) => {
  const selects = "IAMRoleSelector a selects the resource.";
  const message = (metadata: JsonObject, annotations: JsonObject = {}): string =>
    resolved([inTeamA("a")], bucketObject({ annotations }, exists(metadata)), { region: "eu-west-1" }).message;
  t.equal(
    message({ ownerAccountID: "444455556666" }),
    `${selects} Drift: the resource exists in account 444455556666, but its role is in account 111122223333.`,
  );
  t.equal(
    message({ region: "us-east-1" }),
    `${selects} Drift: the resource exists in region us-east-1, but its desired region is eu-west-1.`,
  );
  t.equal(
    message({ ownerAccountID: "444455556666", region: "us-east-1" }, { "services.k8s.aws/region": "eu-north-1" }),
    `${selects} Drift: the resource exists in account 444455556666, but its role is in account 111122223333; `
      + "the resource exists in region us-east-1, but its desired region is eu-north-1.",
  );
  t.equal(message({ ownerAccountID: "111122223333", region: "eu-west-1" }), selects);
  t.equal(
    message({ ownerAccountID: "", region: "" }),
    selects,
    "an empty account means that the resource does not exist yet",
  );
  t.equal(
    message({ region: "a\nb" }),
    `${selects} Drift: the resource exists in region a\\u000ab, but its desired region is eu-west-1.`,
  );
  t.match(
    resolved([], bucketObject({}, exists({ ownerAccountID: "1" })), { controllerAccount: "777788889999" }).message,
    /Drift: the resource exists in account 1, but its role is in account 777788889999\.$/,
  );
  t.notMatch(
    resolved([], bucketObject({}, exists({ ownerAccountID: "1", region: "us-east-1" }))).message,
    /Drift/,
    "the account and the region of the controller are unknown",
  );
  t.end();
});

test("escapes control characters of CARM keys in the message", (t) => {
  const key = "a\u001b[31m";
  const map = (value: string): JsonObject => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "ack-role-account-map", namespace: "ack-system" },
    data: { [key]: value },
  });
  const namespace = namespaceObject("team-a", {}, { "services.k8s.aws/owner-account-id": key });
  const message = (...objects: readonly JsonObject[]): string =>
    resolved(objects, bucketObject(), { mode: "carm" }).message;
  t.equal(
    message(namespace),
    'ConfigMap ack-system/ack-role-account-map does not exist, so key "a\\u001b[31m" has no role.',
  );
  t.equal(message(namespace, map(ROLE)), 'The role comes from key "a\\u001b[31m" of the account map.');
  t.equal(message(namespace, map("")), 'ConfigMap ack-system/ack-role-account-map has no role for key "a\\u001b[31m".');
  t.end();
});

test("reads the region from the status, the resource, the namespace and the controller, in this order", (t) => {
  const namespace = namespaceObject("team-a", {}, { "services.k8s.aws/default-region": "n-1" });
  const own = { annotations: { "services.k8s.aws/region": "r-1" } };
  const region = (objects: readonly JsonObject[], resource: JsonObject): unknown =>
    resolved(objects, resource, { region: "c-1" }).region;
  t.same(region([namespace], bucketObject(own, exists({ region: "s-1" }))), { value: "s-1", from: "status" });
  t.same(region([namespace], bucketObject(own)), { value: "r-1", from: "resource" });
  t.same(region([namespace], bucketObject({ annotations: { "services.k8s.aws/region": "" } })), {
    value: "n-1",
    from: "namespace",
  });
  t.same(region([namespaceObject("team-b", {}, { "services.k8s.aws/default-region": "n-1" })], bucketObject()), {
    value: "c-1",
    from: "controller",
  });
  t.equal(resolved([], bucketObject()).region, null);
  t.end();
});

test("compares the storage version of the kind, or the version of the object if the kind is unknown", (t) => {
  const selector = selectorObject("a", { arn: ROLE, resourceTypeSelector: [{ version: "v2" }] });
  const versions = (storage: string): JsonObject =>
    kindObject(
      "Bucket",
      "s3.services.k8s.aws",
      ["v1alpha1", "v2"].map((name) => ({ name, served: true, storage: name === storage })),
    );
  t.equal(resolved([selector], bucketObject()).outcome, "default");
  t.equal(resolved([selector, versions("v2")], bucketObject()).outcome, "selected");
  t.equal(
    resolved([selector, versions("v1alpha1")], { ...bucketObject(), apiVersion: "s3.services.k8s.aws/v2" }).outcome,
    "default",
  );
  t.equal(
    resolved(
      [selector, kindObject("Bucket", "other.services.k8s.aws", [{ name: "v2", served: true, storage: true }])],
      bucketObject(),
    ).outcome,
    "default",
  );
  t.end();
});

test("sets the name label of every namespace, and overrides a forged name label", (t) => {
  const selector = selectorObject("a", {
    arn: ROLE,
    namespaceSelector: { labelSelector: { matchLabels: { "kubernetes.io/metadata.name": "team-a" } } },
  });
  t.equal(resolved([selector], bucketObject()).outcome, "selected");
  t.equal(
    resolved([selector, namespaceObject("team-a", { "kubernetes.io/metadata.name": "team-b" })], bucketObject())
      .outcome,
    "selected",
  );
  t.equal(
    resolved(
      [selector, namespaceObject("team-b", { "kubernetes.io/metadata.name": "team-a" })],
      bucketObject({ namespace: "team-b" }),
    ).outcome,
    "default",
  );
  t.end();
});

test("reads a label key such as constructor only if the object sets the label", (t) => {
  for (const key of ["constructor", "__proto__", "toString", "hasOwnProperty"]) {
    // The key __proto__ becomes an own key, as with JSON.parse.
    const matchLabels: JsonObject = Object.fromEntries([[key, "x"]]);
    const selector = selectorObject("a", { arn: ROLE, resourceLabelSelector: { matchLabels } });
    t.equal(resolved([selector], bucketObject()).outcome, "default", key);
    t.equal(resolved([selector], bucketObject({ labels: matchLabels })).outcome, "selected", key);
    const absent = selectorObject("a", {
      arn: ROLE,
      resourceLabelSelector: { matchExpressions: [{ key: "constructor", operator: "DoesNotExist" }] },
    });
    t.equal(resolved([absent], bucketObject(), { runtime: "extended" }).outcome, "selected");
  }
  t.end();
});

test("ignores expressions with --runtime ack, and applies expressions with --runtime extended", (t) => {
  const selector = selectorObject("a", {
    arn: ROLE,
    resourceTypeSelector: [{ kind: "Bucket" }],
    resourceLabelSelector: { matchExpressions: [{ key: "team", operator: "Exists" }] },
  });
  t.equal(resolved([selector], bucketObject()).outcome, "selected");
  t.equal(resolved([selector], bucketObject(), { runtime: "extended" }).outcome, "default");
  t.equal(resolved([selector], bucketObject({ labels: { team: "" } }), { runtime: "extended" }).outcome, "selected");
  t.end();
});

test("reads a resource, and uses the default namespace if the resource has no namespace", (t) => {
  t.same(queryOf(bucketObject({ namespace: undefined, name: undefined }), "team-b"), {
    group: "s3.services.k8s.aws",
    version: "v1alpha1",
    kind: "Bucket",
    namespace: "team-b",
    name: null,
    labels: new Map(),
    annotations: new Map(),
    status: { ownerAccountID: null, region: null },
  });
  t.same(queryOf({ metadata: { labels: { a: 1, b: "c" } }, status: "x" }, "d").labels, new Map([["b", "c"]]));
  t.end();
});

test("accepts only the API groups of ACK services", (t) => {
  for (const group of ["s3.services.k8s.aws", "a.b.services.k8s.aws"]) t.equal(isACKGroup(group), true, group);
  for (const group of ["services.k8s.aws", "", "s3.services.k8s.aws.example.com", "s3services.k8s.aws"])
    t.equal(isACKGroup(group), false, group);
  t.end();
});
