import type { Cluster } from "../apiserver/cluster.ts";
import { NAMESPACE } from "./helm.ts";

export const DEPLOYMENT = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/ack-role-resolver-webhook`;

/** Writes the status that the Deployment controller would write. */
export async function setAvailable(cluster: Cluster, count: number): Promise<void> {
  const status = { replicas: count, readyReplicas: count, availableReplicas: count };
  const headers = { "content-type": "application/merge-patch+json" };
  const { status: code } = await cluster.request("PATCH", `${DEPLOYMENT}/status`, { status }, { headers });
  if (code !== 200) throw new Error(`the API server rejected the status with ${code}`);
}
