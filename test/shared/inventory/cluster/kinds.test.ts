import { test } from "tap";
import { field } from "../../../../shared/decisions/kubernetes/json.ts";
import { CLUSTER_KINDS } from "../../../../shared/inventory/cluster/kinds.ts";
import { collectionPath, toStoredObject, resourceName } from "../../../../shared/inventory/cluster/watched-kind.ts";

/** What is kept of an object of a kind. */
function kept(kind: string, object: object): unknown {
  const found = CLUSTER_KINDS.find((one) => one.kind === kind);
  return found === undefined ? "no such kind" : toStoredObject(found, object);
}

const metadata = { name: "a", resourceVersion: "7", uid: "u", generation: 2, managedFields: [{}], labels: { l: "1" }, annotations: { n: "2" } };

test("a selector is kept whole but for managedFields", async (t) => {
  const { managedFields: _, ...rest } = metadata;
  t.same(kept("IAMRoleSelector", { metadata, spec: { arn: "x" }, status: { y: 1 } }), {
    namespace: "",
    name: "a",
    resourceVersion: "7",
    object: { apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: rest, spec: { arn: "x" }, status: { y: 1 } },
  });
});

test("of a namespace what decisions read", async (t) => {
  const object = { metadata: { ...metadata, deletionTimestamp: "2026-01-01T00:00:00Z" }, spec: { finalizers: [] }, status: { phase: "Terminating", conditions: [] } };
  t.same(kept("Namespace", object), {
    namespace: "",
    name: "a",
    resourceVersion: "7",
    object: {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "a", resourceVersion: "7", labels: { l: "1" }, annotations: { n: "2" }, deletionTimestamp: "2026-01-01T00:00:00Z" },
      status: { phase: "Terminating" },
    },
  });
  t.match(kept("Namespace", { metadata }), { object: { status: {} } });
});

const spec = (group: string): object => ({ group, names: { kind: "A" }, scope: "Cluster", versions: [{ name: "v1", served: true, storage: true, schema: {} }, 1], conversion: {} });

test("of ACK's definitions the versions, of others nothing", async (t) => {
  for (const group of ["s3.services.k8s.aws", "services.k8s.aws"]) {
    t.match(kept("CustomResourceDefinition", { metadata, spec: spec(group) }), {
      object: {
        apiVersion: "apiextensions.k8s.io/v1",
        metadata: { name: "a", resourceVersion: "7" },
        spec: { group, names: { kind: "A" }, scope: "Cluster", versions: [{ name: "v1", served: true, storage: true }, {}] },
      },
    });
  }
  for (const group of ["example.com", "notservices.k8s.aws"]) t.match(kept("CustomResourceDefinition", { metadata, spec: spec(group) }), { object: null });
  t.match(kept("CustomResourceDefinition", { metadata, spec: { group: "s3.services.k8s.aws" } }), { object: { spec: { versions: [] } } });
  t.match(kept("CustomResourceDefinition", { metadata }), { object: null });
});

test("of all schemas that of the selectors alone is kept", async (t) => {
  const versions = (kind: string): unknown => {
    const object = field(kept("CustomResourceDefinition", { metadata, spec: { ...spec("services.k8s.aws"), names: { kind } } }), "object");
    return field(field(object, "spec"), "versions");
  };
  t.strictSame(versions("IAMRoleSelector"), [{ name: "v1", served: true, storage: true, schema: {} }, {}]);
  t.strictSame(versions("FieldExport"), [{ name: "v1", served: true, storage: true }, {}]);
});

test("what has no name or version is no object", async (t) => {
  for (const object of [{}, { metadata: {} }, { metadata: { name: "a" } }, { metadata: { resourceVersion: "1" } }]) t.equal(kept("Namespace", object), null);
});

test("paths and names as the API server and RBAC have them", async (t) => {
  t.same(CLUSTER_KINDS.map((kind) => [collectionPath(kind), resourceName(kind)]), [
    ["/apis/services.k8s.aws/v1alpha1/iamroleselectors", "iamroleselectors.services.k8s.aws"],
    ["/api/v1/namespaces", "namespaces"],
    ["/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "customresourcedefinitions.apiextensions.k8s.io"],
  ]);
});
