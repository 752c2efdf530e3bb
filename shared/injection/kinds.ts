import { core } from "../core/kind-rows.ts";
import type { Kind } from "../core/kind.ts";
import type { Condition } from "../core/conditions.ts";
import { MIRROR_ANNOTATION } from "../core/pod.ts";
import { INJECT_LABEL } from "../core/annotation-keys.ts";

/** Skips the mirror Pods of static Pods, which the kubelet runs itself. The expression cannot fail. */
const NOT_A_MIRROR_POD: Condition = {
  name: "not-a-mirror-pod",
  expression: `!has(object.metadata.annotations) || !("${MIRROR_ANNOTATION}" in object.metadata.annotations)`,
};

/**
 * Updates cannot change the containers of a Pod. The Pods of Kubernetes, and those of the webhook itself, must start
 * while the webhook is down.
 */
const OF_PODS = {
  onlyFor: "injection", optIn: INJECT_LABEL,
  operations: ["CREATE"], whenDown: "Fail", namespaces: "others", conditions: [NOT_A_MIRROR_POD],
} as const;

/** The Pods that request a sidecar. */
export const POD = {
  id: "pod", types: ["Pod."], path: "pods", warnsOnly: [], served: core("pods", "Namespaced"),
  reviews: [{ ...OF_PODS, mutates: true }, OF_PODS], isExcludable: true,
  limit: {
    code: "POD-10", fix: "remove containers, variables or volumes from the Pod",
    example: "a Pod that requests a sidecar and has more than 20,000 values",
  },
} as const satisfies Kind;
