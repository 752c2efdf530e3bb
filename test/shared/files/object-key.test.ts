import { test } from "tap";
import { setNamespaces } from "../../../shared/files/object-key.ts";

const TYPES = [
  ["v1", "ConfigMap"], ["apps/v1", "Deployment"], ["s3.services.k8s.aws/v1alpha1", "Bucket"],
  ["services.k8s.aws/v1alpha1", "FieldExport"], ["services.k8s.aws/v1alpha1", "IAMRoleSelector"], ["v1", "Namespace"],
  ["infrastructure.cluster.x-k8s.io/v1beta2", "AWSCluster"],
  ["infrastructure.cluster.x-k8s.io/v1beta2", "AWSClusterRoleIdentity"], ["services.k8s.aws/v1alpha1", "RoleSelectors"],
  ["example.com/v1", "Other"],
] as const;

test("setNamespaces sets the namespace only on objects of namespaced kinds that set none", (t) => {
  const placed = (metadata: object): unknown[] => {
    const manifests = TYPES.map(([apiVersion, kind]) => (
      { object: { apiVersion, kind, metadata }, file: "-", document: 1, lineOf: () => null }
    ));
    return setNamespaces(manifests, "team-a").map(({ object }) => object["metadata"]);
  };
  const name = "ack-role-account-map";
  const changed = new Set<string>(["ConfigMap", "Deployment", "Bucket", "FieldExport", "AWSCluster"]);
  t.same(placed({ name }), TYPES.map(([, kind]) => (
    changed.has(kind) ? { name, namespace: "team-a" } : { name }
  )));
  for (const namespace of ["team-b", 5]) t.same(placed({ namespace }), TYPES.map(() => ({ namespace })));
  t.end();
});
