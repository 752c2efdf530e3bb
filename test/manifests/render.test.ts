import type { ManifestOptions } from "../../manifests/part.ts";
import { test } from "tap";
import { parse } from "yaml";
import { isManifestPart, MANIFEST_PARTS, manifestObjects, renderYAML } from "../../manifests/render.ts";
import { DEFAULT_POLICY_SETTINGS } from "../../manifests/policies.ts";
import { field, stringAt } from "../../shared/formats/json.ts";
import { readManifests } from "../../shared/files/manifest-reader.ts";

const OPTIONS: ManifestOptions = {
  namespace: "ack-role-resolver", runtime: "ack", ackSystemNamespace: "ack-system", url: null, caBundle: null,
  accessReviews: false, extraGroups: [], maintainsCertificates: true,
};
const OUTSIDE: ManifestOptions = { ...OPTIONS, runtime: "extended", url: "https://127.0.0.1:9443", caBundle: "PEM\n" };

test("renders YAML that parses to the original objects, for every part", (t) => {
  for (const part of MANIFEST_PARTS) {
    for (const options of part === "all" ? [OUTSIDE] : [OPTIONS, OUTSIDE]) {
      const objects = JSON.parse(JSON.stringify(manifestObjects(part, options))) as unknown;
      const text = renderYAML(manifestObjects(part, options));
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
  "iamroleselectors", "controllers", "fieldexports", "adoptedresources", "resources", "clusters", "namespaces",
  "waivers",
  "service-account",
].flatMap(() => ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"]);

test("renders all parts in the order in which they must be applied, with the webhooks last", (t) => {
  t.same(manifestObjects("all", OUTSIDE).map((object) => stringAt(object, "kind")), [
    "Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "ClusterRole", "ClusterRoleBinding",
    "Role", "RoleBinding", "ClusterRole", "ClusterRole", "ClusterRole", "ConfigMap", "ConfigMap", "Role",
    "RoleBinding", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "ServiceAccount", "Secret", "Secret",
    "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "ClusterRole", ...POLICIES,
    "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
  ]);
  t.end();
});

test("rejects all manifests if no CA certificate is passed", (t) => {
  const message = "--ca-file: required with --url. Without it, the API server cannot verify the webhook's certificate, "
    + "and denies all changes of selectors. Pass the CA certificate that signed the webhook's certificate, such as the "
    + "ca.crt that `certs make` wrote";
  const options = { ...OUTSIDE, caBundle: null };
  t.throws(() => manifestObjects("all", options), { code: "ERR_CONFIG_INVALID", message });
  t.doesNotThrow(() => manifestObjects("webhooks", options), "another client can set the caBundle");
  t.end();
});

test("renders the parts of the rights only if their option is set", (t) => {
  const names = (options: Partial<ManifestOptions>): string[] => {
    const objects = manifestObjects("rbac", { ...OPTIONS, maintainsCertificates: false, ...options });
    return objects.map((object) => `${stringAt(object, "kind")} ${stringAt(object, "metadata", "name")}`);
  };
  const always = new Set(names({}));
  const added = (options: Partial<ManifestOptions>): string[] => (
    names(options).filter((name) => !always.has(name)).map((name) => name.replace("ack-role-resolver-", ""))
  );
  t.same(added({ maintainsCertificates: true }), [
    "ServiceAccount certificates", "Secret certificates", "Secret webhook-tls", "Role certificates",
    "RoleBinding certificates", "ClusterRole ca-bundle", "ClusterRoleBinding ca-bundle",
  ]);
  t.same(added({ profile: "observe" }), [
    "ConfigMap observed-denials", "Role observed-denials", "RoleBinding observed-denials",
  ]);
  t.same(added({ accessReviews: true }), ["ClusterRole access-reviews", "ClusterRoleBinding access-reviews"]);
  t.same(added({ inject: true }), [
    "ClusterRoleBinding sidecars", "ClusterRoleBinding events", "Role injected-pods", "RoleBinding injected-pods",
  ]);
  t.same(added({ autoControllerIdentity: ["none"] }), [
    "ClusterRole controller-identity", "ClusterRoleBinding controller-identity",
  ]);
  t.same(added({ identitySecretNamespace: "capa-system" }), [
    "ConfigMap identity-accounts", "Role identity-secrets", "Role webhook-identity-secrets",
    "RoleBinding webhook-identity-secrets",
  ]);
  t.end();
});

test("adds the same labels to every object", (t) => {
  for (const object of manifestObjects("all", OUTSIDE)) {
    const labels = field(field(object, "metadata"), "labels");
    t.equal(stringAt(labels, "app.kubernetes.io/name"), "ack-role-resolver", stringAt(object, "kind") ?? "");
    t.match(stringAt(labels, "app.kubernetes.io/version"), /^\d+\.\d+\.\d+$/);
    t.match(stringAt(labels, "app.kubernetes.io/component"), /^(crds|webhook|certificates)$/);
  }
  t.end();
});

test("reports all invalid options in one error", (t) => {
  const extraGroups = ["s3.services.k8s.aws", "services.k8s.aws", "s3.example.com"];
  const options = { ...OPTIONS, identitySecretNamespace: OPTIONS.namespace, extraGroups };
  t.throws(() => manifestObjects("crds", options), {
    code: "ERR_CONFIG_INVALID",
    message: [
      '--extra-groups "services.k8s.aws": not an ACK group; expected a name that ends in .services.k8s.aws',
      '--extra-groups "s3.example.com": not an ACK group; expected a name that ends in .services.k8s.aws',
      "--identity-secret-namespace: requires another namespace than --namespace, because the webhook could then read "
        + "the key of its CA",
    ].join("\n"),
  });
  t.end();
});

test("accepts the name of each part and rejects other names", (t) => {
  for (const part of MANIFEST_PARTS) t.ok(isManifestPart(part));
  for (const text of ["", "CRDs", "deployment", "identity-crd", "constructor"]) t.notOk(isManifestPart(text));
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
