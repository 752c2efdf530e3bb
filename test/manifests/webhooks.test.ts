import { test } from "tap";
import { checkPolicies, DEFAULT_POLICY_SETTINGS } from "../../manifests/policies.ts";
import { listsOf } from "../../manifests/policies/policy.ts";
import { mutatingWebhooks, reachedWebhook } from "../../manifests/webhooks.ts";
import { stringAt } from "../../shared/formats/json.ts";
import { ACK_GROUPS } from "../../shared/core/ack-groups.ts";
import { webhookUnderTest } from "../webhook/webhook-under-test.ts";
import { configured, named, OPTIONS } from "./configured-webhooks.ts";

test("the webhook configurations contain exactly the paths that the webhook serves", async (t) => {
  const { json } = await webhookUnderTest().post("/no/such/path", {});
  const [, served = ""] = (stringAt(json, "message") ?? "").split("The valid paths are ");
  const all = [...configured(), reachedWebhook(OPTIONS)];
  const called = new Set(all.map(({ clientConfig }) => clientConfig.service?.path ?? ""));
  t.same(served.replace(/\.$/, "").split(", ").toSorted(), [...called].toSorted());
});

const DELETES_OR_WAIVES = {
  name: "deletes-or-waives",
  expression: 'object == null || has(object.metadata.annotations) && "ack-role-resolver.io/allow" in '
    + "object.metadata.annotations && !(oldObject != null && has(oldObject.metadata.annotations) && "
    + '"ack-role-resolver.io/allow" in oldObject.metadata.annotations && '
    + 'object.metadata.annotations["ack-role-resolver.io/allow"] == '
    + 'oldObject.metadata.annotations["ack-role-resolver.io/allow"])',
};
const EVERY_WRITE = ["CREATE", "UPDATE", "DELETE"];
const IS_CARM_MAP = {
  name: "is-carm-map",
  expression: "[object, oldObject].exists(one, one != null && has(one.metadata.name) && "
    + 'one.metadata.name in ["ack-role-account-map", "ack-role-team-map"])',
};

test("each webhook has a short timeout and no side effects", (t) => {
  t.equal(configured().length, WEBHOOKS.length);
  for (const webhook of configured()) {
    t.match(webhook, { sideEffects: "None", matchPolicy: "Equivalent" }, webhook.name);
    t.same(webhook.admissionReviewVersions, ["v1"]);
    const { timeoutSeconds = 10 } = webhook;
    t.ok(timeoutSeconds >= 1 && timeoutSeconds <= 3, "timeoutSeconds is 1 to 3");
    for (const rule of webhook.rules ?? []) {
      t.notOk(rule.apiGroups?.includes("*"), "no rule matches every group");
    }
  }
  t.end();
});

const [CREATE, WRITE, ALL] = ["CREATE", "CREATE,UPDATE", "CREATE,UPDATE,DELETE"] as const;
/** The failurePolicy, the operations of each rule, and the conditions of each webhook. */
const WEBHOOKS = [
  ["iamroleselectors.mutate", "Fail", [WRITE], "not-being-deleted"],
  ["resources.mutate", "Ignore", [WRITE], "mutates"],
  ["clusters.mutate", "Ignore", [WRITE, WRITE], "mutates-cluster"],
  ["pods.mutate", "Fail", [CREATE], "not-a-mirror-pod"],
  ["namespace.pods.mutate", "Fail", [CREATE], "not-a-mirror-pod"],
  ["iamroleselectors.validate", "Fail", [ALL], "not-being-deleted", "changes-more-than-bookkeeping"],
  [
    "definition.iamroleselectors.validate", "Fail", [ALL], "not-being-deleted", "is-definition-of-selectors",
    "deletes-or-waives",
  ],
  ["resources.validate", "Ignore", [ALL], "not-deleted-again", "changes-more-than-bookkeeping"],
  [
    "definition.resources.validate", "Ignore", [ALL], "not-deleted-again", "is-definition-of-resources",
    "deletes-or-waives",
  ],
  ["namespaces.validate", "Ignore", [ALL], "not-deleted-again", "changes-namespace"],
  ["configmaps.validate", "Fail", [ALL], "is-carm-map", "changes-more-than-bookkeeping"],
  ["fieldexports.validate", "Fail", [WRITE], "not-being-deleted", "changes-more-than-bookkeeping"],
  ["adoptedresources.validate", "Fail", [WRITE], "not-being-deleted", "changes-more-than-bookkeeping"],
  ["identities.validate", "Fail", [ALL], "not-being-deleted", "changes-more-than-bookkeeping"],
  ["clusters.validate", "Ignore", [WRITE, WRITE], "changes-more-than-bookkeeping"],
  ["pods.validate", "Fail", [CREATE], "not-a-mirror-pod"],
  ["namespace.pods.validate", "Fail", [CREATE], "not-a-mirror-pod"],
];

test("each webhook skips what it would admit, and fails closed only if the kind decides roles or credentials", (t) => {
  t.same(configured().map(({ name, failurePolicy, rules = [], matchConditions = [] }) => [
    name.replace(/\.ack-role-resolver\.io$/, ""), failurePolicy, rules.map(({ operations }) => operations?.join()),
    ...matchConditions.map((condition) => condition.name),
  ]), WEBHOOKS);
  t.end();
});

test("limits the number of keys that a condition of a webhook with failurePolicy Ignore compares", (t) => {
  for (const { name, failurePolicy, matchConditions = [] } of configured()) {
    if (failurePolicy === "Fail") continue;
    for (const { expression } of matchConditions) {
      for (const [, map = ""] of expression.matchAll(/([\w.]*object[\w.?(){}]*)\.all\(/gi)) {
        t.ok(expression.includes(`size(${map}) <= `), `${name}: ${map}`);
      }
    }
  }
  t.end();
});

test("excludes the system namespaces and the webhook's namespace", (t) => {
  const { rules, namespaceSelector } = named(t, "namespaces.validate", { namespace: "platform" });
  const resources = ["namespaces", "namespaces/status", "namespaces/finalize"];
  t.same(rules, [{ apiGroups: [""], apiVersions: ["v1"], resources, operations: EVERY_WRITE, scope: "Cluster" }]);
  t.same(namespaceSelector, {
    matchExpressions: [{
      key: "kubernetes.io/metadata.name", operator: "NotIn",
      values: ["kube-system", "kube-public", "kube-node-lease", "platform"],
    }],
  });
  t.end();
});

test("matches only the two CARM maps in the controllers' namespace", (t) => {
  const { rules, namespaceSelector, matchConditions } = named(t, "configmaps.validate", { ackSystemNamespace: "ack" });
  t.same(rules, [
    { apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"], operations: EVERY_WRITE, scope: "Namespaced" },
  ]);
  t.same(namespaceSelector, {
    matchExpressions: [{ key: "kubernetes.io/metadata.name", operator: "In", values: ["ack"] }],
  });
  t.same(matchConditions?.[0], IS_CARM_MAP);
  t.end();
});

test("validates the deletion and the waivers of CustomResourceDefinitions of ACK resources", (t) => {
  const { rules, matchConditions, clientConfig } = named(t, "definition.resources.validate");
  t.match(rules, [
    { apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions"], operations: EVERY_WRITE },
  ]);
  t.same(matchConditions?.slice(1), [
    {
      name: "is-definition-of-resources",
      expression: "[object, oldObject].exists(one, one != null && has(one.spec.group) && "
        + 'one.spec.group.endsWith(".services.k8s.aws"))',
    },
    DELETES_OR_WAIVES,
  ]);
  t.equal(clientConfig.service?.path, "/validate/resources");
  t.end();
});

test("matches the deletion and the waivers of the IAMRoleSelector CustomResourceDefinition", (t) => {
  const { rules, matchConditions, clientConfig } = named(t, "definition.iamroleselectors.validate");
  t.same(rules, [{
    apiGroups: ["apiextensions.k8s.io"], apiVersions: ["v1"],
    resources: ["customresourcedefinitions", "customresourcedefinitions/status"], operations: EVERY_WRITE,
    scope: "Cluster",
  }]);
  t.same(matchConditions?.slice(1), [
    {
      name: "is-definition-of-selectors",
      expression: "[object, oldObject].exists(one, one != null && has(one.metadata.name) && "
        + 'one.metadata.name == "iamroleselectors.services.k8s.aws")',
    },
    DELETES_OR_WAIVES,
  ]);
  t.equal(clientConfig.service?.path, "/validate/iamroleselectors");
  t.end();
});

test("calls the mutating webhooks again if another webhook changes the object", (t) => {
  const policies = (mutatingWebhooks(OPTIONS).webhooks ?? []).map(({ reinvocationPolicy }) => reinvocationPolicy);
  t.same(policies, Array.from({ length: 5 }, () => "IfNeeded"));
  t.end();
});

test("calls the webhooks for Pods only with injection, and only for labeled Pods outside of its own namespace", (t) => {
  const ofPods = WEBHOOKS.filter(([name]) => String(name).includes("pods."));
  t.equal(configured({ enabled: new Set() }).length, WEBHOOKS.length - ofPods.length);
  const key = "ack-role-resolver.io/inject";
  const outside = [
    { key: "kubernetes.io/metadata.name", operator: "NotIn", values: ["kube-system", "ack-role-resolver"] },
  ];
  for (const path of ["mutate", "validate"]) {
    const [byPod, byNamespace] = [named(t, `pods.${path}`), named(t, `namespace.pods.${path}`)];
    t.same(byPod.namespaceSelector, { matchExpressions: outside });
    t.same(byPod.objectSelector, {
      matchExpressions: [{ key, operator: "Exists" }, { key, operator: "NotIn", values: ["false"] }],
    });
    t.same(byNamespace.namespaceSelector, { matchLabels: { [key]: "true" }, matchExpressions: outside });
    t.same(byNamespace.objectSelector, { matchExpressions: [{ key, operator: "DoesNotExist" }] });
    for (const { rules, clientConfig } of [byPod, byNamespace]) {
      t.match(rules, [{ apiGroups: [""], resources: ["pods"], scope: "Namespaced" }]);
      t.equal(clientConfig.service?.path, `/${path}/pods`);
    }
  }
  t.end();
});

test("calls the selector webhooks only for iamroleselectors", (t) => {
  for (const name of ["iamroleselectors.mutate", "iamroleselectors.validate"]) {
    t.match(named(t, name).rules, [
      { apiGroups: ["services.k8s.aws"], apiVersions: ["v1alpha1"], resources: ["iamroleselectors"], scope: "Cluster" },
    ]);
    t.equal(named(t, name).namespaceSelector, undefined, "selectors are cluster-scoped");
  }
  t.end();
});

test("calls the resource webhooks for every ACK group in every namespace, also kube-system and its own", (t) => {
  const webhook = named(t, "resources.mutate");
  t.match(webhook.rules, [{ apiVersions: ["*"], resources: ["*"], scope: "Namespaced" }]);
  t.same(webhook.rules?.[0]?.apiGroups, ACK_GROUPS);
  for (const one of [webhook, named(t, "resources.validate")]) t.equal(one.namespaceSelector, undefined);
  t.end();
});

test("exempts namespaces only from reviews of Pods and Namespaces, whose denial could lock the cluster out", (t) => {
  const all = configured({ enabled: new Set(["injection", "AC-05"]) });
  const exempting = all.filter((one) => JSON.stringify(one.namespaceSelector ?? null).includes('"kube-system"'));
  t.same(exempting.map(({ name }) => name.replace(".ack-role-resolver.io", "")), [
    "pods.mutate", "namespace.pods.mutate", "namespaces.validate", "pods.validate", "namespace.pods.validate",
  ]);
  const policies = checkPolicies({ ...OPTIONS, runtime: "ack", hasWebhooks: true }, listsOf(DEFAULT_POLICY_SETTINGS));
  const limited = policies.filter((one) => JSON.stringify(one.namespaceSelector ?? null).includes('"kube-system"'));
  t.same(limited.map(({ name }) => name), ["namespaces"]);
  t.end();
});

test("calls the webhooks through the Service, or at the URL with its CA bundle", (t) => {
  const path = "/mutate/resources";
  t.same(named(t, "resources.mutate", { namespace: "platform" }).clientConfig, {
    service: { namespace: "platform", name: "ack-role-resolver-webhook", path, port: 443 },
  });
  for (const url of ["https://127.0.0.1:9443", "https://127.0.0.1:9443/"]) {
    t.same(named(t, "resources.mutate", { url, caBundle: "PEM\n" }).clientConfig, {
      url: `https://127.0.0.1:9443${path}`, caBundle: "UEVNCg==",
    });
  }
  t.end();
});
