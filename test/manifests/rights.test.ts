import { test } from "tap";
import {
  caBundleBinding, caBundleRole, certificatesAccount, certificatesBinding, certificatesLease, certificatesRole,
  certificatesSecrets,
} from "../../manifests/certificates.ts";
import {
  eventsRole, identitiesRole, identitySecretsRole, selectorOwnerRole, sidecarEventsBinding, tenantRole,
} from "../../manifests/rights/sidecars.ts";
import {
  accessReviewsBinding, accessReviewsRole, mapsBinding, mapsRole, readerBinding, readerRole, resourcesBinding,
  resourcesRole,
} from "../../manifests/rights/webhook.ts";
import { manifestObjects } from "../../manifests/render.ts";
import { leaseRole, reconcilerRole, reconcilingObjects } from "../../manifests/reconciling.ts";
import { field, stringAt } from "../../shared/formats/json.ts";
import { ACK_GROUPS } from "../../shared/contract/ack-groups.ts";
import { installNamespace, serviceAccount } from "../../manifests/installation-objects.ts";

const verbs = ["list", "watch"];
const read = ["get", ...verbs];

test("the reader role only allows reading selectors, namespaces and CustomResourceDefinitions", (t) => {
  t.same(readerRole().rules, [
    { apiGroups: ["services.k8s.aws"], resources: ["iamroleselectors"], verbs: read },
    { apiGroups: [""], resources: ["namespaces"], verbs: read },
    { apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions"], verbs },
  ]);
  t.notMatch(JSON.stringify([readerRole(), mapsRole("ack-system")]), /\*/, "the role has no wildcard");
  t.end();
});

test("the resources role only allows reading the ACK groups and the CAPA kinds that decisions read", (t) => {
  t.same(resourcesRole([]).rules, [
    { apiGroups: ACK_GROUPS, resources: ["*"], verbs },
    {
      apiGroups: ["infrastructure.cluster.x-k8s.io"],
      resources: [
        "awsclustercontrolleridentities", "awsclusterroleidentities", "awsclusters", "awsclusterstaticidentities",
        "awsclustertemplates", "awsserviceaccountidentities", "rosanetworks", "rosaroleconfigs",
      ],
      verbs,
    },
    {
      apiGroups: ["controlplane.cluster.x-k8s.io"],
      resources: ["awsmanagedcontrolplanes", "awsmanagedcontrolplanetemplates", "rosacontrolplanes"],
      verbs,
    },
  ]);
  const [rule] = resourcesRole(["zzz.services.k8s.aws", "s3.services.k8s.aws"]).rules ?? [];
  t.same(rule?.apiGroups, [...ACK_GROUPS, "zzz.services.k8s.aws"]);
  for (const group of rule?.apiGroups ?? []) {
    t.match(
      group,
      /^[a-z0-9]+\.services\.k8s\.aws$/,
      "the role has no wildcard, and excludes the group of the selectors",
    );
  }
  t.end();
});

test("the identities role only allows reading the identities of CAPA", (t) => {
  t.same(identitiesRole().rules, [{
    apiGroups: ["infrastructure.cluster.x-k8s.io"],
    resources: [
      "awsclustercontrolleridentities", "awsclusterroleidentities", "awsclusterstaticidentities",
      "awsserviceaccountidentities",
    ],
    verbs: ["list", "watch"],
  }]);
  t.end();
});

test("the identity secrets role only allows reading Secrets in one namespace", (t) => {
  t.match(identitySecretsRole("capa-system"), {
    kind: "Role", metadata: { namespace: "capa-system" },
    rules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["get", "list", "watch"] }],
  });
  t.equal(identitySecretsRole("capa-system").rules?.length, 1);
  t.end();
});

test("the maps role only allows reading the two CARM maps", (t) => {
  t.match(mapsRole("ack"), {
    metadata: { namespace: "ack" },
    rules: [{
      apiGroups: [""], resources: ["configmaps"], resourceNames: ["ack-role-account-map", "ack-role-team-map"], verbs,
    }],
  });
  t.equal(mapsRole("ack").rules?.length, 1);
  t.end();
});

test("the access reviews role only allows creating SubjectAccessReviews", (t) => {
  t.same(accessReviewsRole().rules, [
    { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] },
  ]);
  t.same(accessReviewsBinding("platform").subjects, readerBinding("platform").subjects);
  t.equal(accessReviewsBinding("platform").roleRef.name, accessReviewsRole().metadata?.name);
  t.end();
});

test("the roles of users allow reading selectors, and only the role of owners allows writing them one by one", (t) => {
  const [apiGroups, resources] = [["services.k8s.aws"], ["iamroleselectors"]];
  const all = [...read, "create", "update", "patch", "delete"];
  t.same(selectorOwnerRole().rules, [{ apiGroups, resources, verbs: all }]);
  t.same(tenantRole().rules, [{ apiGroups, resources, verbs: read }]);
  t.end();
});

const CERTIFICATES_ACCOUNT = [
  { kind: "ServiceAccount", name: "ack-role-resolver-certificates", namespace: "platform" },
];

test("the certificates role allows only maintaining two Secrets and one Lease, and writing Events", (t) => {
  const name = "ack-role-resolver-certificates";
  const [leases, secrets] = [{ apiGroups: ["coordination.k8s.io"], resources: ["leases"] }, {
    apiGroups: [""], resources: ["secrets"],
  }];
  t.same(certificatesRole("platform").rules, [
    { ...secrets, resourceNames: [name, "ack-role-resolver-webhook-tls"], verbs: ["list", "watch", "update"] },
    { ...leases, resourceNames: [name], verbs: ["get", "update"] },
    { ...secrets, verbs: ["create"] }, { ...leases, verbs: ["create"] },
    { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch"] },
  ]);
  for (const secret of certificatesSecrets("platform")) {
    t.match(secret, { type: "Opaque", metadata: { namespace: "platform" } });
    t.notOk("data" in secret, "a repeated apply does not remove the certificates");
  }
  t.match(certificatesLease("platform"), { kind: "Lease", metadata: { namespace: "platform", name } });
  const { metadata, roleRef, subjects } = certificatesBinding("platform");
  t.match([metadata?.namespace, roleRef.kind], ["platform", "Role"]);
  t.equal(roleRef.name, certificatesRole("platform").metadata?.name);
  t.same(subjects, CERTIFICATES_ACCOUNT);
  t.match(certificatesAccount("platform"), { metadata: { name, namespace: "platform" } });
  t.end();
});

test("no role of the webhook mentions Secrets, workloads or webhook configurations", (t) => {
  const options = {
    namespace: "platform", runtime: "ack", ackSystemNamespace: "ack-system", url: null, caBundle: null,
    accessReviews: true, extraGroups: [], certificates: "self-signed", image: "resolver:1",
    autoControllerIdentity: ["none"],
  } as const;
  const objects = manifestObjects("rbac", options);
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
  t.same(caBundleRole().rules, [{
    apiGroups: ["admissionregistration.k8s.io"],
    resources: ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
    resourceNames: ["ack-role-resolver"], verbs: ["list", "watch", "patch"],
  }]);
  t.equal(caBundleBinding("platform").roleRef.name, caBundleRole().metadata?.name);
  t.same(caBundleBinding("platform").subjects, CERTIFICATES_ACCOUNT);
  t.end();
});

test("the reconciler role allows patching ACK kinds and clusters, writing Events, and renewing one Lease", (t) => {
  t.same(reconcilerRole([]).rules, [
    { apiGroups: ACK_GROUPS, resources: ["*"], verbs: ["patch"] },
    {
      apiGroups: ["infrastructure.cluster.x-k8s.io"],
      resources: ["awsclusters", "awsclustertemplates", "rosanetworks", "rosaroleconfigs"], verbs: ["patch"],
    },
    {
      apiGroups: ["controlplane.cluster.x-k8s.io"],
      resources: ["awsmanagedcontrolplanes", "awsmanagedcontrolplanetemplates", "rosacontrolplanes"], verbs: ["patch"],
    },
    { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch"] },
  ]);
  t.same(reconcilerRole(["zzz.services.k8s.aws"]).rules?.[0]?.apiGroups, [...ACK_GROUPS, "zzz.services.k8s.aws"]);
  t.same(leaseRole("platform").rules, [{
    apiGroups: ["coordination.k8s.io"], resources: ["leases"], resourceNames: ["ack-role-resolver-webhook"],
    verbs: ["get", "update"],
  }]);
  const objects = reconcilingObjects({ namespace: "platform", extraGroups: [] });
  const named = objects.map((object) => `${stringAt(object, "kind")} ${stringAt(object, "metadata", "name")}`);
  t.same(named, [
    "Lease ack-role-resolver-webhook", "Role ack-role-resolver-reconciler", "RoleBinding ack-role-resolver-reconciler",
    "ClusterRole ack-role-resolver-reconciler", "ClusterRoleBinding ack-role-resolver-reconciler",
  ]);
  t.end();
});

test("the events role allows only writing Events, to the service accounts of the controllers", (t) => {
  t.same(eventsRole().rules, [
    { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch"] },
  ]);
  const { roleRef, subjects } = sidecarEventsBinding("ack");
  t.equal(roleRef.name, eventsRole().metadata?.name);
  t.match(subjects, [{ kind: "Group", name: "system:serviceaccounts:ack" }]);
  t.end();
});

test("the role bindings grant each role to the webhook's service account", (t) => {
  const account = serviceAccount("platform").metadata;
  const { roleRef, subjects } = readerBinding("platform");
  t.match(account, { name: "ack-role-resolver-webhook", namespace: installNamespace("platform").metadata?.name });
  t.same(subjects, [{ kind: "ServiceAccount", name: account?.name, namespace: account?.namespace }]);
  t.same(roleRef, { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: readerRole().metadata?.name });
  t.same(resourcesBinding("platform").subjects, subjects);
  t.equal(resourcesBinding("platform").roleRef.name, resourcesRole([]).metadata?.name);
  const maps = mapsBinding("platform", "ack");
  t.same(maps.subjects, subjects);
  t.match(maps, { metadata: { namespace: "ack" }, roleRef: { kind: "Role", name: mapsRole("ack").metadata?.name } });
  t.end();
});
