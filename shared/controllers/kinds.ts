import type { Kind } from "../core/kind.ts";

const WORKLOADS = [
  "ReplicationController.", "Deployment.apps", "StatefulSet.apps", "DaemonSet.apps", "ReplicaSet.apps", "Job.batch",
  "CronJob.batch",
];

/** The objects that create Pods. */
export const WORKLOAD = { id: "workload", types: WORKLOADS, path: null, warnsOnly: [] } as const satisfies Kind;
