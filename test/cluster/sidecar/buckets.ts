import { field, isJsonObject, type JsonObject } from "../../../shared/formats/json.ts";
import { until } from "../../real/apiserver/until.ts";
import { sessionOf } from "../../real/oracle/ack-controller.ts";
import type { PodCluster } from "../cluster.ts";
import { NAMESPACE, POD_LABELS } from "./controller-pod.ts";

export function bucket(namespace: string, name: string): object {
  return { apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { name, namespace }, spec: { name } };
}

/** Waits until the controller has created a bucket. Returns the role of its session. */
export async function untilCreated(cluster: PodCluster, namespace: string, name: string): Promise<string> {
  return sessionOf(await untilCondition(cluster, namespace, name, "ACK.ResourceSynced"));
}

/** Waits until a bucket has a condition with status True. Returns its status. */
export async function untilCondition(
  cluster: PodCluster, namespace: string, name: string, type: string,
): Promise<JsonObject> {
  const path = `/apis/s3.services.k8s.aws/v1alpha1/namespaces/${namespace}/buckets/${name}`;
  let status: unknown;
  const isMet = async (): Promise<boolean> => {
    status = field((await cluster.api.request("GET", path)).body, "status");
    const conditions = field(status, "conditions");
    return Array.isArray(conditions) && conditions.some((one) => field(one, "type") === type);
  };
  if ((await until(isMet)) && isJsonObject(status)) return status;
  const [pod] = await cluster.pods(NAMESPACE, POD_LABELS);
  const log = await cluster.logs(NAMESPACE, pod?.name ?? "", "controller");
  throw new Error(`${namespace}/${name} has no condition ${type}: ${JSON.stringify(status)}\n${log}`);
}
