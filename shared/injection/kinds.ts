import { core } from "../core/kind-rows.ts";
import type { Kind } from "../core/kind.ts";

/**
 * Updates cannot change the containers of a Pod. The Pods of Kubernetes, and those of the webhook itself, must start
 * while the webhook is down.
 */
const OF_PODS = {
  operations: ["CREATE"], whenDown: "Fail", namespaces: "others", conditions: ["not-a-mirror-pod"],
  ofRequests: true,
} as const;

/** The Pods that request a sidecar. */
export const POD = {
  id: "pod", types: ["Pod."], path: "pods", warnsOnly: [], served: core("pods", "Namespaced"),
  reviews: [{ ...OF_PODS, mutates: true }, OF_PODS],
  limit: {
    code: "POD-10", fix: "remove containers, variables or volumes from the Pod",
    example: "a Pod that requests a sidecar and has more than 20,000 values",
  },
} as const satisfies Kind;
