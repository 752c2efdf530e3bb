import type { V1ConfigMap, V1Role } from "@kubernetes/client-node";
import { labelsOf, WEBHOOK } from "../installation.ts";
import { LIST, namespacedRole, roleBinding } from "./role-objects.ts";

/**
 * Returns the ConfigMap in which the replicas share the changes that they admit, and the right to update it. With the
 * ConfigMap, the webhook needs no right to create ConfigMaps, which RBAC cannot limit to one name. A client that
 * applies the manifests again does not change the data.
 */
export function pendingWritesObjects(namespace: string): readonly object[] {
  return [configMap(namespace), role(namespace), roleBinding(WEBHOOK.pendingWrites, namespace, namespace)];
}

function configMap(namespace: string): V1ConfigMap {
  const metadata = { name: WEBHOOK.pendingWrites, namespace, labels: labelsOf("webhook") };
  return { apiVersion: "v1", kind: "ConfigMap", metadata };
}

function role(namespace: string): V1Role {
  const resourceNames = [WEBHOOK.pendingWrites];
  return namespacedRole(WEBHOOK.pendingWrites, namespace, [
    { apiGroups: [""], resources: ["configmaps"], resourceNames, verbs: [...LIST, "update"] },
  ]);
}
