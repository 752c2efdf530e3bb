import { type JsonObject, stringAt } from "../../shared/decisions/kubernetes/json.ts";
import type { KubernetesRequest } from "../../shared/inventory/cluster/api.ts";
import { rejectionText, sendRequest, type SendPorts } from "../../shared/inventory/cluster/send-request.ts";
import type { ObjectName } from "../../shared/inventory/cluster/watched-kind.ts";
import { labelsOf } from "../../manifests/installation.ts";
import type { TestedOperation } from "./ca-bundle.ts";

/** The result of a write: the stored object, or null if another client changed the object at the same time. */
type Written = JsonObject | null;

/** The field manager, which `kubectl get --show-managed-fields` shows. */
const MANAGER = "fieldManager=ack-role-resolver-certificates";

/**
 * Creates or updates the Secret. The update contains the resource version that the replica read. So a replica that is
 * not the leader anymore cannot overwrite the CA of another replica.
 */
export async function writeSecret(
  ports: SendPorts, secret: JsonObject, { namespace, name }: ObjectName,
): Promise<Written> {
  const path = `/api/v1/namespaces/${namespace}/secrets`;
  const isNew = stringAt(secret, "metadata", "resourceVersion") === null;
  const metadata = { namespace, name, labels: labelsOf("certificates") };
  const created = { ...secret, apiVersion: "v1", kind: "Secret", type: "Opaque", metadata };
  const request = isNew
    ? { method: "POST", path: `${path}?${MANAGER}`, body: JSON.stringify(created) } as const
    : { method: "PUT", path: `${path}/${name}?${MANAGER}`, body: JSON.stringify(secret) } as const;
  // 404: another client deleted the Secret.
  return await send(ports, request, new Set(isNew ? [409] : [404, 409]));
}

/**
 * Sets the caBundles in a webhook configuration. A JSON patch changes only these fields, and tests that each webhook is
 * still at its position. Server-side apply would create incomplete webhooks if a user removed them at the same time,
 * and would own the fields, so that a GitOps tool reports a conflict.
 */
export async function writeBundle(
  ports: SendPorts, [plural, configuration]: readonly [string, JsonObject], patch: readonly TestedOperation[],
): Promise<Written> {
  const name = stringAt(configuration, "metadata", "name") ?? "";
  const path = `/apis/admissionregistration.k8s.io/v1/${plural}/${name}?${MANAGER}`;
  const contentType = "application/json-patch+json";
  // 422: a test of the patch failed. 404: another client deleted the configuration.
  const request = { method: "PATCH", path, contentType, body: JSON.stringify(patch) } as const;
  return await send(ports, request, new Set([404, 409, 422]));
}

async function send(
  ports: SendPorts, request: Omit<KubernetesRequest, "signal">, conflicts: ReadonlySet<number>,
): Promise<Written> {
  const response = await sendRequest(ports, request);
  if (conflicts.has(response.status)) return null;
  if (response.status !== 200 && response.status !== 201) throw new Error(rejectionText(request, response));
  return response.object;
}
