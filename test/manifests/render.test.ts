import { test } from "tap";
import { parse } from "yaml";
import {
  isManifestPart, MANIFEST_PARTS, manifestObjects, type ManifestOptions, renderManifests, renderYAML,
} from "../../manifests/render.ts";
import { DEFAULT_POLICY_SETTINGS } from "../../manifests/policies.ts";
import { field, stringAt } from "../../shared/formats/json.ts";
import { readManifests } from "../../shared/files/manifest-reader.ts";

const OPTIONS: ManifestOptions = {
  namespace: "ack-role-resolver", runtime: "ack", ackSystemNamespace: "ack-system", url: null, caBundle: null,
  accessReviews: false, extraGroups: [],
  certificates: "self-signed", image: "registry.example/ack-role-resolver:1.2.3",
};
const OUTSIDE: ManifestOptions = { ...OPTIONS, runtime: "extended", url: "https://127.0.0.1:9443", caBundle: "PEM\n" };

test("renders YAML that parses to the original objects, for every part", (t) => {
  for (const part of MANIFEST_PARTS) {
    for (const options of part === "deployment" ? [OPTIONS] : [OPTIONS, OUTSIDE]) {
      const objects = JSON.parse(JSON.stringify(manifestObjects(part, options))) as unknown;
      const text = renderManifests(part, options);
      const { manifests, faults } = readManifests(text, "-");
      t.same(faults, []);
      t.same(manifests.map(({ object }) => object), objects, `${part}, parsed as kubectl parses YAML`);
      const documents = text.split(/^---\n/m).slice(1);
      t.same(documents.map((document) => parse(document) as unknown), objects, `${part}, parsed as YAML 1.2`);
    }
  }
  t.end();
});

test("quotes strings that YAML would parse as another type", (t) => {
  const data = {
    a: "on", b: "0123", c: "1e3", d: "", e: "~", f: "2001-01-01", g: "12:30", h: "0o7", y: "yes",
  };
  const object = { apiVersion: "v1", kind: "ConfigMap", data };
  t.same(readManifests(renderYAML([object]), "-").manifests.map((manifest) => manifest.object), [object]);
  t.same(parse(renderYAML([object])), object);
  t.end();
});

const POLICIES = [
  "iamroleselectors", "controllers", "fieldexports", "resources", "clusters", "namespaces", "waivers",
  "service-account",
].flatMap(() => ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"]);

test("renders all parts in the order in which they must be applied, with the webhooks last", (t) => {
  t.same(manifestObjects("all", OPTIONS).map((object) => stringAt(object, "kind")), [
    "Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "ClusterRole", "ClusterRoleBinding",
    "ClusterRole", "Role", "RoleBinding", "ClusterRole", "ClusterRole", "ClusterRole",
    "Lease", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding",
    "ConfigMap", "Role", "RoleBinding",
    "ServiceAccount", "Secret", "Secret", "Lease", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding",
    "NetworkPolicy", "PodDisruptionBudget", "Service", "NetworkPolicy", "Deployment", "Deployment", ...POLICIES,
    "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
  ]);
  t.end();
});

test("renders no Deployment and no Service for a webhook outside the cluster", (t) => {
  const kinds = manifestObjects("all", { ...OUTSIDE, }).map((object) => stringAt(object, "kind"));
  t.notMatch(kinds.join(" "), /\b(Deployment|Service)\b/);
  const message = "manifests deployment: not available with --url, because the webhook runs outside the cluster";
  t.throws(() => renderManifests("deployment", OUTSIDE), { code: "ERR_CONFIG_INVALID", message });
  t.end();
});

test("rejects all manifests if no CA certificate is passed and nothing else writes the caBundle", (t) => {
  const required = (where: string): string => (
    `--ca-file: required with ${where}. Without it, the API server cannot verify the webhook's certificate, and `
      + "denies all changes of selectors. Pass the CA certificate that signed the webhook's certificate, such as the "
      + "ca.crt that `certs make` wrote"
  );
  for (const [options, message] of [
    [{ ...OUTSIDE, caBundle: null }, required("--url")],
    [{ ...OPTIONS, certificates: "files" }, required("--certificates files")],
  ] as const) {
    t.throws(() => renderManifests("all", options), { code: "ERR_CONFIG_INVALID", message });
    t.doesNotThrow(() => renderManifests("webhooks", options), "the part has no Deployment");
  }
  for (const certificates of ["self-signed", "cert-manager"] as const) {
    t.doesNotThrow(() => renderManifests("all", { ...OPTIONS, certificates }));
    t.throws(() => renderManifests("all", { ...OPTIONS, certificates, caBundle: "PEM\n" }), {
      message: `--ca-file: not available with --certificates ${certificates}; to use a certificate of your own, pass `
        + "--certificates files",
    });
  }
  t.end();
});

test("renders the rights to maintain certificates only if the webhook creates them", (t) => {
  const names = (certificates: "self-signed" | "files"): (string | null)[] => (
    manifestObjects("rbac", { ...OPTIONS, certificates }).map((object) => stringAt(object, "metadata", "name"))
  );
  const own = ["ack-role-resolver-webhook-tls", "ack-role-resolver-certificates", "ack-role-resolver-ca-bundle"];
  t.same(own.filter((name) => names("self-signed").includes(name)), own);
  t.same(own.filter((name) => names("files").includes(name)), []);
  t.end();
});

test("renders the access reviews role only if accessReviews is set", (t) => {
  const names = (accessReviews: boolean): string[] => {
    const objects = manifestObjects("rbac", { ...OPTIONS, accessReviews });
    return objects.map((object) => stringAt(object, "metadata", "name") ?? "");
  };
  t.same(names(true), [...names(false), "ack-role-resolver-access-reviews", "ack-role-resolver-access-reviews"]);
  t.notMatch(renderManifests("all", OPTIONS), /subjectaccessreviews/);
  t.end();
});

test("renders the role for the Secrets of static identities only if their namespace is set", (t) => {
  const secretRoles = (identitySecretNamespace: string | null): readonly object[] => (
    manifestObjects("rbac", { ...OPTIONS, certificates: "files", identitySecretNamespace })
      .filter((object) => JSON.stringify(object).includes('"secrets"'))
  );
  t.match(secretRoles("capa-system"), [
    { kind: "Role", metadata: { name: "ack-role-resolver-identity-secrets", namespace: "capa-system" } },
    {
      kind: "Role", metadata: { name: "ack-role-resolver-webhook-identity-secrets", namespace: "capa-system" },
      rules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["list", "watch"] }],
    },
  ]);
  t.same([secretRoles("capa-system").length, secretRoles(null).length], [2, 0]);
  t.match(renderManifests("all", { ...OPTIONS, identitySecretNamespace: "capa-system" }),
    "--identity-secret-namespace=capa-system");
  t.end();
});

test("renders the rights of injected sidecars and the webhooks for Pods only if inject is set", (t) => {
  const injecting = renderManifests("all", { ...OPTIONS, inject: true });
  t.match(injecting, `--sidecar-image=${OPTIONS.image}`);
  t.match(injecting, "system:serviceaccounts:ack-system");
  t.match(injecting, "/mutate/pods");
  t.notMatch(renderManifests("all", OPTIONS), /sidecar|\/pods|system:serviceaccounts:/);
  t.end();
});

test("adds the same labels to every object", (t) => {
  for (const object of manifestObjects("all", OPTIONS)) {
    const labels = field(field(object, "metadata"), "labels");
    t.equal(stringAt(labels, "app.kubernetes.io/name"), "ack-role-resolver", stringAt(object, "kind") ?? "");
    t.match(stringAt(labels, "app.kubernetes.io/version"), /^\d+\.\d+\.\d+$/);
    t.match(stringAt(labels, "app.kubernetes.io/component"), /^(crds|webhook|certificates)$/);
  }
  t.end();
});

test("reports all invalid options in one error", (t) => {
  const form = "lower-case letters, digits and '-', and start and end with a letter or digit";
  const extraGroups = ["s3.services.k8s.aws", "services.k8s.aws", "s3.example.com"];
  const options = { ...OPTIONS, namespace: "Platform_1", ackSystemNamespace: "ack.system", extraGroups };
  t.throws(() => renderManifests("crds", options), {
    code: "ERR_CONFIG_INVALID",
    message: [
      `--namespace "Platform_1": a namespace name must consist of ${form}`,
      `--ack-system-namespace "ack.system": a namespace name must consist of ${form}`,
      '--extra-groups "services.k8s.aws": not an ACK group; expected a name that ends in .services.k8s.aws',
      '--extra-groups "s3.example.com": not an ACK group; expected a name that ends in .services.k8s.aws',
    ].join("\n"),
  });
  t.end();
});

test("accepts the name of each part and rejects other names", (t) => {
  for (const part of MANIFEST_PARTS) t.ok(isManifestPart(part));
  for (const text of ["", "CRDs", "deployments", "constructor"]) t.notOk(isManifestPart(text));
  t.end();
});

test("sends machines and the deletion of clusters to the webhook only if AC-05 is on", (t) => {
  const rulesOf = (severity: "deny" | "warn" | "off" | null): unknown[] => {
    const checkSeverities = new Map(severity === null ? [] : [["AC-05", severity]] as const);
    const policies = { ...DEFAULT_POLICY_SETTINGS, checkSeverities };
    const [, validating] = manifestObjects("webhooks", { ...OPTIONS, policies });
    const webhooks = field(validating, "webhooks");
    const name = "use.clusters.validate.ack-role-resolver.io";
    const found = Array.isArray(webhooks) ? webhooks.filter((one) => stringAt(one, "name") === name) : [];
    return found.map((one: unknown) => field(one, "rules"));
  };
  t.same(rulesOf(null), [], "by default");
  t.same(rulesOf("off"), []);
  t.equal(rulesOf("warn").length, 1);
  t.match(rulesOf("deny"), [[
    { resources: ["awsclusters", "awsclustertemplates", "rosanetworks", "rosaroleconfigs"], operations: ["DELETE"] },
    { apiGroups: ["controlplane.cluster.x-k8s.io"], operations: ["DELETE"] },
    {
      resources: ["awsfargateprofiles", "awsmachinepools", "awsmachines", "awsmanagedmachinepools", "rosamachinepools"],
      operations: ["CREATE", "UPDATE", "DELETE"], apiVersions: ["*"],
    },
    { apiGroups: ["cluster.x-k8s.io"], operations: ["CREATE", "UPDATE", "DELETE"] },
    { resources: ["kubeadmcontrolplanes"], operations: ["CREATE", "UPDATE", "DELETE"] },
  ]]);
  t.end();
});
