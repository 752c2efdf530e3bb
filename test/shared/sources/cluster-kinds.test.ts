import { test } from "tap";
import { resourceOf } from "../../../shared/core/ack-resource.ts";
import { field, isJsonObject, type JsonObject } from "../../../shared/formats/json.ts";
import { fixedKinds, servedKind } from "../../../shared/sources/cluster-kinds.ts";
import {
  collectionPath, resourceName, toStoredObject, type WatchedKind,
} from "../../../shared/api/watched-kind.ts";
import { definition } from "../api/fake-cluster.ts";

const S3 = "s3.services.k8s.aws";

/** Returns the reduced object that the informer of a kind stores. */
function stored(kind: string, object: object): unknown {
  const found = fixedKinds(null).find((one) => one.kind === kind);
  return found === undefined ? "no such kind" : toStoredObject(found, object);
}

const metadata = {
  name: "a",
  resourceVersion: "7",
  uid: "u",
  generation: 2,
  managedFields: [{}],
  labels: { l: "1" },
  annotations: { n: "2" },
};

test("stores a selector without managedFields", async (t) => {
  const { managedFields: _, ...rest } = metadata;
  t.same(stored("IAMRoleSelector", { metadata, spec: { arn: "x" }, status: { y: 1 } }), {
    namespace: "",
    name: "a",
    resourceVersion: "7",
    object: {
      apiVersion: "services.k8s.aws/v1alpha1",
      kind: "IAMRoleSelector",
      metadata: rest,
      spec: { arn: "x" },
      status: { y: 1 },
    },
  });
});

test("stores only the fields of a namespace that are used to resolve roles", async (t) => {
  const object = {
    metadata: { ...metadata, deletionTimestamp: "2026-01-01T00:00:00Z" },
    spec: { finalizers: [] },
    status: { phase: "Terminating", conditions: [] },
  };
  t.same(stored("Namespace", object), {
    namespace: "",
    name: "a",
    resourceVersion: "7",
    object: {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: {
        name: "a", resourceVersion: "7", labels: { l: "1" }, annotations: { n: "2" },
        deletionTimestamp: "2026-01-01T00:00:00Z",
      },
      status: { phase: "Terminating" },
    },
  });
  t.match(stored("Namespace", { metadata }), { object: { status: {} } });
});

const spec = (group: string): object => ({
  group, names: { kind: "A" }, scope: "Cluster", conversion: {},
  versions: [{ name: "v1", served: true, storage: true, schema: {} }, 1],
});

test("stores the versions of the ACK CRDs, and ignores other CRDs", async (t) => {
  for (const group of ["s3.services.k8s.aws", "services.k8s.aws"]) {
    t.match(stored("CustomResourceDefinition", { metadata, spec: spec(group) }), {
      object: {
        apiVersion: "apiextensions.k8s.io/v1",
        metadata: { name: "a", resourceVersion: "7" },
        spec: {
          group,
          names: { kind: "A" },
          scope: "Cluster",
          versions: [{ name: "v1", served: true, storage: true }, {}],
        },
      },
    });
  }
  for (const group of ["example.com", "notservices.k8s.aws"]) {
    t.match(stored("CustomResourceDefinition", { metadata, spec: spec(group) }), { object: null });
  }
  t.match(stored("CustomResourceDefinition", { metadata, spec: { group: S3 } }), {
    object: { spec: { versions: [] } },
  });
  t.match(stored("CustomResourceDefinition", { metadata }), { object: null });
});

test("stores the schema only for the IAMRoleSelector CRD", async (t) => {
  const versions = (kind: string): unknown => {
    const crd = { metadata, spec: { ...spec("services.k8s.aws"), names: { kind } } };
    return field(field(field(stored("CustomResourceDefinition", crd), "object"), "spec"), "versions");
  };
  t.strictSame(versions("IAMRoleSelector"), [{ name: "v1", served: true, storage: true, schema: {} }, {}]);
  t.strictSame(versions("FieldExport"), [{ name: "v1", served: true, storage: true }, {}]);
});

test("rejects an object without a name or resource version", async (t) => {
  for (const object of [{}, { metadata: {} }, { metadata: { name: "a" } }, { metadata: { resourceVersion: "1" } }]) {
    t.equal(stored("Namespace", object), null);
  }
});

test("returns the API path and the RBAC resource name of each kind", async (t) => {
  t.same(fixedKinds(null).map((kind) => [collectionPath(kind), resourceName(kind)]), [
    ["/apis/services.k8s.aws/v1alpha1/iamroleselectors", "iamroleselectors.services.k8s.aws"],
    ["/api/v1/namespaces", "namespaces"],
    ["/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "customresourcedefinitions.apiextensions.k8s.io"],
  ]);
});

function kindOf(crd: object): WatchedKind | null {
  return isJsonObject(crd) ? servedKind(crd) : null;
}

function storedBucket(object: object): JsonObject | null {
  const kind = kindOf(definition(S3, "Bucket"));
  return kind === null ? null : (toStoredObject(kind, object)?.object ?? null);
}

test("lists a kind in its storage version if it is served, and otherwise in the first served version", (t) => {
  const path = (crd: object): string | null => {
    const kind = kindOf(crd);
    return kind === null ? null : collectionPath(kind);
  };
  t.equal(path(definition(S3, "Bucket")), `/apis/${S3}/v1alpha1/buckets`);
  t.equal(path(definition(S3, "Bucket", { versions: ["v1", "v1alpha1"] })), `/apis/${S3}/v1/buckets`);
  const versions = [{ name: "v1", served: false, storage: true }, { name: "v1alpha1", served: true, storage: false }];
  const bucketSpec = { group: S3, scope: "Namespaced", names: { kind: "Bucket", plural: "buckets" } };
  t.equal(path({ ...definition(S3, "Bucket"), spec: { ...bucketSpec, versions } }), `/apis/${S3}/v1alpha1/buckets`);
  t.equal(path(definition(S3, "Bucket", { served: false })), null);
  t.equal(path(definition(S3, "Bucket", { established: false })), null);
  t.equal(path(definition(S3, "Bucket", { scope: "Cluster" })), null);
  t.equal(path(definition("services.k8s.aws", "IAMRoleSelector")), null, "not an AWS resource");
  t.equal(path(definition("s3.example.com", "Bucket")), null);
  t.equal(path({ ...definition(S3, "Bucket"), spec: bucketSpec }), null);
  t.equal(path({ ...definition(S3, "Bucket"), status: {} }), null);
  t.end();
});

const COMPLETE_BUCKET = {
  metadata: {
    name: "b", namespace: "team-a", resourceVersion: "7", uid: "u", generation: 3, managedFields: [{}],
    finalizers: ["finalizers.s3.services.k8s.aws/Bucket"],
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
    conditions: [
      { type: "ACK.ResourceSynced", status: "True", message: "long", lastTransitionTime: "x" },
      { type: "ACK.Terminal", status: "False" },
    ],
    location: "http://b",
  },
};

test("stores only the fields of a resource that are used to resolve its role", (t) => {
  t.same(storedBucket(COMPLETE_BUCKET), {
    apiVersion: `${S3}/v1alpha1`,
    kind: "Bucket",
    metadata: {
      name: "b", namespace: "team-a", uid: "u", resourceVersion: "7", labels: { app: "shop" },
      deletionTimestamp: "2026-01-01T00:00:00Z",
      annotations: {
        "services.k8s.aws/region": "eu-west-1", "s3.services.k8s.aws/deletion-policy": "retain",
        "ack-role-resolver.io/allow": "IRS-30",
      },
    },
    status: {
      ackResourceMetadata: { arn: "arn:aws:s3:::b", ownerAccountID: "111122223333", region: "eu-west-1" },
      conditions: [{ type: "ACK.ResourceSynced", status: "True" }],
    },
  });
  t.same(storedBucket({ metadata: { name: "b", resourceVersion: "1" } }), {
    apiVersion: `${S3}/v1alpha1`, kind: "Bucket",
    metadata: { name: "b", resourceVersion: "1", annotations: {} }, status: { conditions: [] },
  });
  t.end();
});

test("the reduced resource in the inventory resolves to the same role as the complete resource", (t) => {
  const complete = { apiVersion: `${S3}/v1alpha1`, kind: "Bucket", ...COMPLETE_BUCKET };
  const { annotations: _, ...read } = resourceOf(storedBucket(COMPLETE_BUCKET) ?? {});
  const { annotations: __, ...all } = resourceOf(complete);
  t.same(read, all);
  t.match(read, { created: true, deleting: true });
  t.end();
});

const CAPA = "infrastructure.cluster.x-k8s.io";
const CONTROL_PLANE = "controlplane.cluster.x-k8s.io";

test("lists the CAPA kinds that decisions read, in the scope that the kind has", (t) => {
  const path = (group: string, kind: string, scope?: string): string | null => {
    const found = kindOf(definition(group, kind, { versions: ["v1beta2"], ...(scope !== undefined && { scope }) }));
    return found === null ? null : collectionPath(found);
  };
  t.equal(path(CAPA, "AWSClusterRoleIdentity", "Cluster"), `/apis/${CAPA}/v1beta2/awsclusterroleidentitys`);
  t.equal(path(CAPA, "AWSClusterRoleIdentity"), null);
  t.equal(path(CAPA, "AWSServiceAccountIdentity"), `/apis/${CAPA}/v1beta2/awsserviceaccountidentitys`);
  t.equal(path(CAPA, "AWSServiceAccountIdentity", "Cluster"), null);
  t.equal(path(CAPA, "AWSCluster"), `/apis/${CAPA}/v1beta2/awsclusters`);
  t.equal(path(CAPA, "AWSCluster", "Cluster"), null);
  t.equal(path(CONTROL_PLANE, "ROSAControlPlane"), `/apis/${CONTROL_PLANE}/v1beta2/rosacontrolplanes`);
  t.equal(path(CAPA, "AWSMachine"), null, "the kind has no identityRef");
  for (const [kind, isRead] of [["AWSCluster", true], ["AWSMachine", false]] as const) {
    t.equal(stored("CustomResourceDefinition", definition(CAPA, kind)) !== null, true);
    t.match(stored("CustomResourceDefinition", definition(CAPA, kind)), { object: isRead ? {} : null });
  }
  t.end();
});

function storedOf(kind: string, object: object, scope = "Namespaced"): JsonObject | null {
  const found = kindOf(definition(CAPA, kind, { versions: ["v1beta2"], scope }));
  return found === null ? null : (toStoredObject(found, object)?.object ?? null);
}

test("stores the spec of an identity, and only the reference and the region of an object that refers to one", (t) => {
  const labels = { "cluster.x-k8s.io/cluster-name": "c" };
  const owner = { apiVersion: "cluster.x-k8s.io/v1beta1", kind: "Cluster", name: "c" };
  const complete = { ...metadata, labels, ownerReferences: [{}] };
  const kept = { name: "a", uid: "u", resourceVersion: "7", labels, annotations: {} };
  const role = { roleARN: "arn", allowedNamespaces: { list: null, selector: {} } };
  const apiVersion = `${CAPA}/v1beta2`;
  t.same(storedOf("AWSClusterRoleIdentity", { metadata: complete, spec: role, status: {} }, "Cluster"), {
    apiVersion, kind: "AWSClusterRoleIdentity", metadata: { name: "a", uid: "u", resourceVersion: "7" }, spec: role,
  });
  t.match(storedOf("AWSClusterRoleIdentity", { metadata: complete }, "Cluster"), { spec: {} });
  const reference = { identityRef: { kind: "AWSClusterRoleIdentity", name: "r" }, region: "eu-west-1" };
  t.same(storedOf("AWSCluster", { metadata: complete, spec: { ...reference, network: {} }, status: { ready: true } }), {
    apiVersion, kind: "AWSCluster", metadata: kept, spec: reference,
  });
  const owned = { ...complete, ownerReferences: [{ kind: "Other" }, { ...owner, uid: "u", controller: true }] };
  t.match(storedOf("AWSCluster", { metadata: owned }), { metadata: { ...kept, ownerReferences: [owner] } });
  const template = { spec: { ...reference, s3Bucket: {} } };
  t.same(storedOf("AWSClusterTemplate", { metadata: complete, spec: { template } }), {
    apiVersion, kind: "AWSClusterTemplate", metadata: kept, spec: { template: { spec: reference } },
  });
  t.end();
});
