import { test } from "tap";
import { caInjection, certManagerObjects, CERTIFICATE_MODES } from "../../manifests/certificates.ts";
import { manifestObjects, type ManifestOptions } from "../../manifests/render.ts";
import { field, stringAt } from "../../shared/formats/json.ts";
import { SETTINGS } from "../../shared/contract/settings.ts";

const OPTIONS: ManifestOptions = {
  namespace: "platform", runtime: "ack", ackSystemNamespace: "ack-system", url: null, caBundle: null,
  accessReviews: false, extraGroups: [], certificates: "cert-manager", image: "resolver:1",
};

test("cert-manager issues a certificate for the name that the API server calls, and injects its CA", (t) => {
  const certificate = certManagerObjects("platform").at(-1);
  t.match(certificate, {
    kind: "Certificate",
    metadata: { name: "ack-role-resolver-webhook-tls", namespace: "platform" },
    spec: {
      secretName: "ack-role-resolver-webhook-tls",
      dnsNames: ["ack-role-resolver-webhook.platform.svc", "ack-role-resolver-webhook.platform.svc.cluster.local"],
    },
  });
  t.same(caInjection("platform"), { "cert-manager.io/inject-ca-from": "platform/ack-role-resolver-webhook-tls" });
  t.end();
});

test("each issuer that a Certificate names exists, and the issuer of the CA uses the Secret of the CA", (t) => {
  const objects = certManagerObjects("platform");
  const issuers = objects.filter((object) => stringAt(object, "kind") === "Issuer");
  const certificates = objects.filter((object) => stringAt(object, "kind") === "Certificate");
  const names = new Set(issuers.map((issuer) => stringAt(issuer, "metadata", "name")));
  for (const certificate of certificates) t.ok(names.has(stringAt(certificate, "spec", "issuerRef", "name")));
  t.equal(stringAt(issuers[1], "spec", "ca", "secretName"), stringAt(certificates[0], "spec", "secretName"));
  t.end();
});

test("only cert-manager has objects of its own and an annotation at the webhook configurations", (t) => {
  for (const certificates of ["self-signed", "cert-manager"] as const) {
    const objects = manifestObjects("all", { ...OPTIONS, certificates });
    const isOfCertManager = (object: object): boolean => (stringAt(object, "apiVersion") ?? "").startsWith("cert-man");
    t.equal(objects.some(isOfCertManager), certificates === "cert-manager");
    const annotations = objects.slice(-2).map((object) => field(field(object, "metadata"), "annotations"));
    const injected = certificates === "cert-manager" ? caInjection("platform") : undefined;
    t.same(annotations, [injected, injected]);
  }
  t.end();
});

test("the flag --certificates has a choice for each mode", (t) => {
  t.same(SETTINGS.certificates.choices, CERTIFICATE_MODES);
  t.end();
});
