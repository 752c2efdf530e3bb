import { test } from "tap";
import { resourceOf } from "../../../../shared/decisions/kubernetes/ack-resource.ts";
import { isJsonObject, type JsonObject } from "../../../../shared/decisions/kubernetes/json.ts";
import { resourceKind } from "../../../../shared/inventory/cluster/kinds.ts";
import { collectionPath, toStoredObject, type WatchedKind } from "../../../../shared/inventory/cluster/watched-kind.ts";
import { definition } from "./fake-cluster.ts";

const S3 = "s3.services.k8s.aws";

function kindOf(crd: object): WatchedKind | null {
  return isJsonObject(crd) ? resourceKind(crd) : null;
}

function kept(object: object): JsonObject | null {
  const kind = kindOf(definition(S3, "Bucket"));
  return kind === null ? null : (toStoredObject(kind, object)?.object ?? null);
}

test("a kind is read in its stored version, or in one that is served", (t) => {
  const path = (crd: object): string | null => {
    const kind = kindOf(crd);
    return kind === null ? null : collectionPath(kind);
  };
  t.equal(path(definition(S3, "Bucket")), `/apis/${S3}/v1alpha1/buckets`);
  t.equal(path(definition(S3, "Bucket", { versions: ["v1", "v1alpha1"] })), `/apis/${S3}/v1/buckets`);
  const versions = [{ name: "v1", served: false, storage: true }, { name: "v1alpha1", served: true, storage: false }];
  const unstored = { ...definition(S3, "Bucket"), spec: { group: S3, scope: "Namespaced", names: { kind: "Bucket", plural: "buckets" }, versions } };
  t.equal(path(unstored), `/apis/${S3}/v1alpha1/buckets`);
  t.equal(path(definition(S3, "Bucket", { served: false })), null);
  t.equal(path(definition(S3, "Bucket", { established: false })), null);
  t.equal(path(definition(S3, "Bucket", { scope: "Cluster" })), null);
  t.equal(path(definition("services.k8s.aws", "IAMRoleSelector")), null, "it holds no AWS resource");
  t.equal(path(definition("s3.example.com", "Bucket")), null);
  t.equal(path({ ...definition(S3, "Bucket"), spec: { group: S3, scope: "Namespaced", names: { kind: "Bucket", plural: "buckets" } } }), null);
  t.equal(path({ ...definition(S3, "Bucket"), status: {} }), null);
  t.end();
});

const WHOLE = {
  metadata: {
    name: "b", namespace: "team-a", resourceVersion: "7", uid: "u", generation: 3, finalizers: ["finalizers.s3.services.k8s.aws/Bucket"], managedFields: [{}],
    labels: { app: "shop" },
    deletionTimestamp: "2026-01-01T00:00:00Z",
    annotations: {
      "services.k8s.aws/region": "eu-west-1",
      "s3.services.k8s.aws/deletion-policy": "retain",
      "ack-role-resolver.io/allow": "IRS-30",
      "kubectl.kubernetes.io/last-applied-configuration": "{}",
      "services.k8s.aws.example.com/region": "x",
      "notservices.k8s.aws/region": "x",
      "services.k8s.aws": "x",
      "my-ack-role-resolver.io/allow": "x",
    },
  },
  spec: { name: "b", tagging: { tagSet: [] } },
  status: {
    ackResourceMetadata: { arn: "arn:aws:s3:::b", ownerAccountID: "111122223333", region: "eu-west-1" },
    conditions: [{ type: "ACK.ResourceSynced", status: "True", message: "long", lastTransitionTime: "x" }, { type: "ACK.Terminal", status: "False" }],
    location: "http://b",
  },
};

test("of a resource what decisions read is kept", (t) => {
  t.same(kept(WHOLE), {
    apiVersion: `${S3}/v1alpha1`,
    kind: "Bucket",
    metadata: {
      name: "b", namespace: "team-a", resourceVersion: "7", labels: { app: "shop" }, deletionTimestamp: "2026-01-01T00:00:00Z",
      annotations: { "services.k8s.aws/region": "eu-west-1", "s3.services.k8s.aws/deletion-policy": "retain", "ack-role-resolver.io/allow": "IRS-30" },
    },
    status: {
      ackResourceMetadata: { arn: "arn:aws:s3:::b", ownerAccountID: "111122223333", region: "eu-west-1" },
      conditions: [{ type: "ACK.ResourceSynced", status: "True" }],
    },
  });
  t.same(kept({ metadata: { name: "b", resourceVersion: "1" } }), {
    apiVersion: `${S3}/v1alpha1`, kind: "Bucket", metadata: { name: "b", resourceVersion: "1", annotations: {} }, status: { conditions: [] },
  });
  t.end();
});

test("a kept resource reads as the whole one", (t) => {
  const whole = { apiVersion: `${S3}/v1alpha1`, kind: "Bucket", ...WHOLE };
  const { annotations: _, ...read } = resourceOf(kept(WHOLE) ?? {});
  const { annotations: __, ...all } = resourceOf(whole);
  t.same(read, all);
  t.match(read, { created: true, deleting: true });
  t.end();
});
