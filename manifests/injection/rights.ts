import type { Part } from "../part.ts";
import { clusterBinding, roleWithBinding, webhookAccount } from "../rbac.ts";

/** The rights of controllers that have a sidecar, and of the webhook to their Pods. */
export const INJECTION: Part = {
  isPrinted: ({ inject = false }) => inject,
  value: ".Values.injection.enabled",
  objects: (options) => {
    const name = `system:serviceaccounts:${options.ackSystemNamespace}`;
    const controllers = { apiGroup: "rbac.authorization.k8s.io", kind: "Group", name };
    return [
      // Controllers can read selectors and namespaces also without this binding: their charts grant this.
      clusterBinding("sidecars", "reader", controllers), clusterBinding("events", "events", controllers),
      // For the Events about sidecars that do not follow the profile. RBAC cannot limit the right to labels.
      ...roleWithBinding("injected-pods", options.ackSystemNamespace, [
        { apiGroups: [""], resources: ["pods"], verbs: ["list"] },
      ], webhookAccount(options)),
    ];
  },
};
