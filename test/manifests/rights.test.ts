import { test } from "tap";
import { identityRoles } from "../../manifests/capa/parts.ts";
import type { ManifestOptions } from "../../manifests/part.ts";
import { admissionPolicies, DEFAULT_POLICY_SETTINGS } from "../../manifests/policies.ts";
import { listsOf } from "../../manifests/policies/policy.ts";
import { rightsOf } from "../../manifests/rbac.ts";
import { manifestObjects, PARTS } from "../../manifests/render.ts";
import { ACK_GROUPS, knownGroups } from "../../shared/core/ack-groups.ts";
import { field, stringAt } from "../../shared/formats/json.ts";

const OPTIONS: ManifestOptions = {
  namespace: "platform", runtime: "ack", ackSystemNamespace: "ack-system", url: null, caBundle: null,
  accessReviews: true, extraGroups: [], maintainsCertificates: true, autoControllerIdentity: ["none"], inject: true,
  identitySecretNamespace: "capa-system",
};
const OBJECTS = manifestObjects("rbac", OPTIONS);

/** Returns the object of a kind by its name without the name of the product. */
function found(kind: string, name: string): object {
  const object = OBJECTS.find((one) => (
    stringAt(one, "kind") === kind && stringAt(one, "metadata", "name") === `ack-role-resolver-${name}`
  ));
  if (object === undefined) throw new Error(`no ${kind} ${name}`);
  return object;
}

function rulesOf(kind: "Role" | "ClusterRole", name: string): unknown {
  return field(found(kind, name), "rules");
}

const ACCOUNTS = "ack-role-resolver-identity-accounts";
const verbs = ["list", "watch"];
const read = ["get", ...verbs];

test("the reader role only allows reading selectors, namespaces, definitions and the profile", (t) => {
  t.same(rulesOf("ClusterRole", "reader"), [
    { apiGroups: ["services.k8s.aws"], resources: ["iamroleselectors"], verbs: read },
    { apiGroups: [""], resources: ["namespaces"], verbs: read },
    { apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions"], verbs },
    { apiGroups: [""], resources: ["configmaps"], resourceNames: ["ack-role-resolver-profile"], verbs },
  ]);
  t.match(found("ConfigMap", "profile"), { metadata: { namespace: "platform" }, data: { profile: "enforce" } });
  t.end();
});

const CLUSTERS = {
  "infrastructure.cluster.x-k8s.io": ["awsclusters", "awsclustertemplates", "rosanetworks", "rosaroleconfigs"],
  "controlplane.cluster.x-k8s.io": ["awsmanagedcontrolplanes", "awsmanagedcontrolplanetemplates", "rosacontrolplanes"],
};
const IDENTITIES = [
  "awsclustercontrolleridentities", "awsclusterroleidentities", "awsclusterstaticidentities",
  "awsserviceaccountidentities",
];

test("the resources role only allows reading the ACK groups and the CAPA kinds that decisions read", (t) => {
  const [infrastructure, controlPlane] = Object.entries(CLUSTERS);
  t.same(rulesOf("ClusterRole", "resources"), [
    { apiGroups: ACK_GROUPS, resources: ["*"], verbs },
    { apiGroups: [infrastructure?.[0]], resources: [...IDENTITIES, ...infrastructure?.[1] ?? []].toSorted(), verbs },
    { apiGroups: [controlPlane?.[0]], resources: controlPlane?.[1], verbs },
  ]);
  const [rule] = rightsOf("resources", {
    ackGroups: knownGroups(["zzz.services.k8s.aws", "s3.services.k8s.aws"]),
  });
  t.same(rule?.apiGroups, [...ACK_GROUPS, "zzz.services.k8s.aws"]);
  for (const group of rule?.apiGroups ?? []) {
    t.match(group, /^[a-z0-9]+\.services\.k8s\.aws$/, "no wildcard, and not the group of the selectors");
  }
  t.end();
});

test("the roles of sidecars only allow reading identities, CARM maps and the Secrets of one namespace", (t) => {
  t.same(rulesOf("ClusterRole", "identities"), [
    { apiGroups: ["infrastructure.cluster.x-k8s.io"], resources: IDENTITIES, verbs },
  ]);
  t.match(found("Role", "carm-maps"), { metadata: { namespace: "ack-system" } });
  t.same(rulesOf("Role", "carm-maps"), [{
    apiGroups: [""], resources: ["configmaps"], resourceNames: ["ack-role-account-map", "ack-role-team-map"], verbs,
  }]);
  t.match(found("ConfigMap", "identity-accounts"), { metadata: { namespace: "capa-system" }, data: undefined });
  const rights = [["identity-secrets", read, ["patch"]], ["webhook-identity-secrets", verbs, verbs]] as const;
  for (const [name, all, recording] of rights) {
    t.match(found("Role", name), { metadata: { namespace: "capa-system" } });
    t.same(rulesOf("Role", name), [
      { apiGroups: [""], resources: ["secrets"], verbs: all },
      { apiGroups: [""], resources: ["configmaps"], resourceNames: [ACCOUNTS], verbs: recording },
    ]);
  }
  t.end();
});

test("the access reviews role only allows creating SubjectAccessReviews", (t) => {
  t.same(rulesOf("ClusterRole", "access-reviews"), [
    { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] },
  ]);
  t.end();
});

test("the roles of users allow reading selectors, and only the role of owners allows writing them one by one", (t) => {
  const [apiGroups, resources] = [["services.k8s.aws"], ["iamroleselectors"]];
  const all = [...read, "create", "update", "patch", "delete"];
  t.same(rulesOf("ClusterRole", "selector-owner"), [{ apiGroups, resources, verbs: all }]);
  t.same(rulesOf("ClusterRole", "tenant"), [{ apiGroups, resources, verbs: read }]);
  t.end();
});

test("the roles of users of CAPA name each kind, and a tenant writes only the identities of its namespace", (t) => {
  const roles = identityRoles();
  const write = [...read, "create", "update", "patch", "delete"];
  const [owner, user, tenant] = roles.map((role) => field(role, "rules"));
  const all = { apiGroups: ["infrastructure.cluster.x-k8s.io"], resources: IDENTITIES };
  t.same(owner, [{ ...all, verbs: write }]);
  t.same(user, [{ ...all, verbs: ["use"] }]);
  const text = JSON.stringify(tenant);
  t.notMatch(text, /\*|\/|awscluster\w*identities|deletecollection/);
  t.same(Array.isArray(tenant) ? tenant.at(-1) : null, {
    ...all, resources: ["awsserviceaccountidentities"], verbs: [...write, "use"],
  });
  t.notMatch(JSON.stringify(roles), "aggregate-to");
  t.end();
});

const EVENTS = { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch"] };

test("the certificates role allows only two Secrets, one Lease, reading EndpointSlices and writing Events", (t) => {
  const name = "ack-role-resolver-certificates";
  const leases = { apiGroups: ["coordination.k8s.io"], resources: ["leases"] };
  const secrets = { apiGroups: [""], resources: ["secrets"] };
  t.same(rulesOf("Role", "certificates"), [
    { ...secrets, resourceNames: [name, "ack-role-resolver-webhook-tls"], verbs: ["list", "watch", "update"] },
    { ...leases, resourceNames: [name], verbs: ["get", "update"] },
    { ...secrets, verbs: ["create"] },
    { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["list", "watch"] },
    { ...leases, verbs: ["create"] }, EVENTS,
  ]);
  for (const secret of ["certificates", "webhook-tls"].map((one) => found("Secret", one))) {
    t.match(secret, { type: "Opaque", metadata: { namespace: "platform" } });
    t.notOk("data" in secret, "a repeated apply does not remove the certificates");
  }
  t.end();
});

test("no role of the webhook mentions Secrets, workloads or webhook configurations", (t) => {
  t.same(rulesOf("Role", "injected-pods"), [{ apiGroups: [""], resources: ["pods"], verbs: ["list"] }]);
  t.match(found("Role", "injected-pods"), { metadata: { namespace: "ack-system" } }, "the only right to Pods");
  const objects = manifestObjects("rbac", { ...OPTIONS, identitySecretNamespace: null, inject: false });
  const bindings = objects.filter((one) => JSON.stringify(field(one, "subjects") ?? "").includes('resolver-webhook"'));
  const roles = bindings.map((one) => `${stringAt(one, "roleRef", "kind")} ${stringAt(one, "roleRef", "name")}`);
  t.ok(roles.length > 5);
  const nameOf = (one: object): string => `${stringAt(one, "kind")} ${stringAt(one, "metadata", "name")}`;
  const granted = objects.filter((one) => roles.includes(nameOf(one)));
  t.equal(granted.length, new Set(roles).size);
  const text = JSON.stringify(granted.map((one) => field(one, "rules")));
  t.notMatch(text, /"(secrets|pods|jobs|deployments|\w+webhookconfigurations|serviceaccounts\/token)"/);
  t.end();
});

test("the CA bundle role allows only changing the webhook configurations of this project", (t) => {
  t.same(rulesOf("ClusterRole", "ca-bundle"), [{
    apiGroups: ["admissionregistration.k8s.io"],
    resources: ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
    resourceNames: ["ack-role-resolver"], verbs: ["list", "watch", "patch"],
  }]);
  t.end();
});

test("the reconciler role allows patching ACK kinds and clusters, writing Events, and renewing one Lease", (t) => {
  t.same(rulesOf("ClusterRole", "reconciler"), [
    { apiGroups: ACK_GROUPS, resources: ["*"], verbs: ["patch"] },
    ...Object.entries(CLUSTERS).map(([group, resources]) => ({ apiGroups: [group], resources, verbs: ["patch"] })),
    EVENTS,
  ]);
  const leases = { apiGroups: ["coordination.k8s.io"], resources: ["leases"] };
  t.same(rulesOf("Role", "reconciler"), [
    { ...leases, resourceNames: ["ack-role-resolver-webhook"], verbs: ["get", "update"] },
    { ...leases, verbs: ["create"] },
  ]);
  t.end();
});

test("each role has the binding that grants it, and only users bind the others", (t) => {
  const account = (name: string): object => ({ kind: "ServiceAccount", name, namespace: "platform" });
  const [webhook, certificates] = ["webhook", "certificates"].map((name) => account(`ack-role-resolver-${name}`));
  const controllers = {
    apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "system:serviceaccounts:ack-system",
  };
  const bindings = OBJECTS.filter((one) => stringAt(one, "kind")?.endsWith("Binding") === true).map((one) => [
    stringAt(one, "roleRef", "name")?.replace("ack-role-resolver-", ""), field(one, "subjects"),
    stringAt(one, "metadata", "namespace"),
  ]);
  t.same(bindings, [
    ["reader", [webhook], null], ["resources", [webhook], null], ["carm-maps", [webhook], "ack-system"],
    ["pending-writes", [webhook], "platform"], ["reconciler", [webhook], "platform"], ["reconciler", [webhook], null],
    ["certificates", [certificates], "platform"], ["ca-bundle", [certificates], null],
    ["access-reviews", [webhook], null], ["reader", [controllers], null], ["events", [controllers], null],
    ["injected-pods", [webhook], "ack-system"], ["controller-identity", [webhook], null],
    ["webhook-identity-secrets", [webhook], "capa-system"],
  ]);
  t.same(rulesOf("ClusterRole", "events"), [EVENTS]);
  t.end();
});

test("binds each right of the webhook to a service account of another name, and limits that account", (t) => {
  const options = { ...OPTIONS, identitySecretNamespace: "capa-system", ackGroups: ACK_GROUPS, sidecarProfile: {} };
  const text = (name: { readonly serviceAccount?: string }): string => (
    JSON.stringify([
      ...PARTS.map(({ objects }) => objects({ ...options, ...name })),
      admissionPolicies({ ...options, ...name, hasWebhooks: true }, listsOf(DEFAULT_POLICY_SETTINGS)),
    ])
  );
  const renamed = text({})
    .replaceAll('"kind":"ServiceAccount","name":"ack-role-resolver-webhook"', '"kind":"ServiceAccount","name":"gate"')
    .replaceAll("system:serviceaccount:platform:ack-role-resolver-webhook", "system:serviceaccount:platform:gate")
    .replaceAll("ack-role-resolver-webhook may only", "gate may only");
  t.equal(text({ serviceAccount: "gate" }), renamed);
  t.equal(renamed.split('"name":"gate"').length - 1, 11, "each binding");
  t.end();
});
