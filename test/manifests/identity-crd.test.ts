import { test } from "tap";
import { DEFAULT_IMAGE } from "../../manifests/deployment.ts";
import { serviceAccountIdentityCRD } from "../../manifests/identity-crd.ts";
import { manifestObjects } from "../../manifests/render.ts";
import { field, isJsonObject } from "../../shared/formats/json.ts";
import { servedKind } from "../../shared/sources/cluster-kinds.ts";

test("the CRD of AWSServiceAccountIdentity defines a namespaced kind that a cluster source lists", (t) => {
  const crd = { ...serviceAccountIdentityCRD(), status: { conditions: [{ type: "Established", status: "True" }] } };
  t.match(isJsonObject(crd) ? servedKind(crd) : null, {
    group: "infrastructure.cluster.x-k8s.io", version: "v1beta2", kind: "AWSServiceAccountIdentity",
    plural: "awsserviceaccountidentities",
  });
  t.match(crd, { metadata: { name: "awsserviceaccountidentities.infrastructure.cluster.x-k8s.io" } });
  t.end();
});

test("the CRD of AWSServiceAccountIdentity has the defaults and the limits of the parameters", (t) => {
  const [version] = [field(field(serviceAccountIdentityCRD(), "spec"), "versions")].flat();
  const schema = field(field(version, "schema"), "openAPIV3Schema");
  t.match(field(field(schema, "properties"), "spec"), {
    required: ["roleARN"],
    properties: {
      audiences: { default: ["sts.amazonaws.com"], items: { maxLength: 255 } },
      policyARNs: { maxItems: 10, items: { maxLength: 2048 } },
      durationSeconds: { minimum: 900, maximum: 43_200 },
      expirationSeconds: { default: 86_400, minimum: 600 },
      inlinePolicy: { maxLength: 2048 },
    },
  });
  t.end();
});

test("manifests prints the CRD only for the part identity-crd", (t) => {
  const options = {
    namespace: "a", ackSystemNamespace: "ack-system", extraGroups: [], url: null, caBundle: null, runtime: "ack",
    accessReviews: false, certificates: "self-signed", image: DEFAULT_IMAGE,
  } as const;
  t.same(manifestObjects("identity-crd", options), [serviceAccountIdentityCRD()]);
  t.notMatch(JSON.stringify(manifestObjects("all", options)), /"AWSServiceAccountIdentity"/);
  t.end();
});
