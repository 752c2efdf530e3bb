import { test } from "tap";
import { parse } from "yaml";
import {
  isManifestPart, MANIFEST_PARTS, manifestObjects, type ManifestOptions, renderManifests, renderYAML,
} from "../../manifests/render.ts";
import { field, stringAt } from "../../shared/decisions/kubernetes/json.ts";
import { readManifests } from "../../shared/inventory/manifests/reader.ts";

const OPTIONS: ManifestOptions = { namespace: "ack-role-resolver", runtime: "ack", ackSystemNamespace: "ack-system", url: null, caBundle: null, accessReviews: false, extraGroups: [] };

test("the YAML of every part reads back as the same objects", (t) => {
  for (const part of MANIFEST_PARTS) {
    for (const options of [OPTIONS, { ...OPTIONS, runtime: "extended", url: "https://127.0.0.1:9443", caBundle: "PEM\n" } as const]) {
      const objects = JSON.parse(JSON.stringify(manifestObjects(part, options))) as unknown;
      const text = renderManifests(part, options);
      const { manifests, faults } = readManifests(text, "-");
      t.same(faults, []);
      t.same(manifests.map(({ object }) => object), objects, `${part}, as kubectl reads it`);
      t.same(text.split(/^---\n/m).slice(1).map((document) => parse(document) as unknown), objects, `${part}, as YAML 1.2`);
    }
  }
  t.end();
});

test("strings that YAML could take for something else stay strings", (t) => {
  const object = { apiVersion: "v1", kind: "ConfigMap", data: { a: "on", b: "0123", c: "1e3", d: "", e: "~", f: "2001-01-01", g: "12:30", h: "0o7", y: "yes" } };
  t.same(readManifests(renderYAML([object]), "-").manifests.map((manifest) => manifest.object), [object]);
  t.same(parse(renderYAML([object])), object);
  t.end();
});

test("all is the parts in an order in which they can be applied, the webhooks last", (t) => {
  t.same(manifestObjects("all", OPTIONS).map((object) => stringAt(object, "kind")), [
    "Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding",
    "CustomResourceDefinition",
    "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
  ]);
  t.end();
});

test("the right to make access reviews is there only when it is asked for", (t) => {
  const named = (accessReviews: boolean): string[] => manifestObjects("rbac", { ...OPTIONS, accessReviews }).map((object) => stringAt(object, "metadata", "name") ?? "");
  t.same(named(true), [...named(false), "ack-role-resolver-access-reviews", "ack-role-resolver-access-reviews"]);
  t.notMatch(renderManifests("all", OPTIONS), /subjectaccessreviews/);
  t.end();
});

test("every object says what it belongs to", (t) => {
  for (const object of manifestObjects("all", OPTIONS)) {
    const labels = field(field(object, "metadata"), "labels");
    t.equal(stringAt(labels, "app.kubernetes.io/name"), "ack-role-resolver", stringAt(object, "kind") ?? "");
    t.match(stringAt(labels, "app.kubernetes.io/version"), /^\d+\.\d+\.\d+$/);
    t.match(stringAt(labels, "app.kubernetes.io/component"), /^(crds|webhook)$/);
  }
  t.end();
});

test("options that cannot be are refused, every one named", (t) => {
  const options = { ...OPTIONS, namespace: "Platform_1", ackSystemNamespace: "ack.system", extraGroups: ["s3.services.k8s.aws", "services.k8s.aws", "s3.example.com"] };
  t.throws(() => renderManifests("crds", options), {
    code: "ERR_CONFIG_INVALID",
    message: '--namespace "Platform_1": a namespace name consists of lower-case letters, digits and \'-\', starting and ending with a letter or digit\n'
      + '--ack-system-namespace "ack.system": a namespace name consists of lower-case letters, digits and \'-\', starting and ending with a letter or digit\n'
      + '--extra-groups "services.k8s.aws": no ACK group; expected one that ends in .services.k8s.aws\n'
      + '--extra-groups "s3.example.com": no ACK group; expected one that ends in .services.k8s.aws',
  });
  t.end();
});

test("a part is one of those that there are", (t) => {
  for (const part of MANIFEST_PARTS) t.ok(isManifestPart(part));
  for (const text of ["", "CRDs", "deployment", "constructor"]) t.notOk(isManifestPart(text));
  t.end();
});
