import { isSuccess, sendRequest, type SendPorts } from "../../shared/api/send-request.ts";
import type { ObjectName } from "../../shared/api/watched-kind.ts";
import { REACHED } from "../../shared/core/installation.ts";

/**
 * Returns whether the API server reaches the webhook: whether its answer to an update of the Lease, in a dry run that
 * changes nothing, contains the webhook's warning. False if this is not known.
 */
export async function isReached(ports: SendPorts, { namespace, name }: ObjectName): Promise<boolean> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${name}`;
  try {
    const lease = await sendRequest(ports, { path });
    if (!isSuccess(lease)) return false;
    const body = JSON.stringify(lease.object);
    const { warning } = await sendRequest(ports, { method: "PUT", path: `${path}?dryRun=All`, body });
    return warning.includes(REACHED.warning);
  } catch {
    return false;
  }
}
