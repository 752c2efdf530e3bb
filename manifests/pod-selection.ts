import type { V1LabelSelector, V1ValidatingWebhook } from "@kubernetes/client-node";
import { INJECT_LABEL } from "../shared/decisions/annotation-keys.ts";
import { NOT_A_MIRROR_POD } from "./conditions.ts";

/** Matches new Pods. Updates cannot change the containers of a Pod. */
export const POD_RULES: Pick<V1ValidatingWebhook, "rules" | "matchConditions"> = {
  rules: [{ apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], operations: ["CREATE"], scope: "Namespaced" }],
  matchConditions: [NOT_A_MIRROR_POD],
};

type PodSelectors = Required<Pick<V1ValidatingWebhook, "namespaceSelector" | "objectSelector">>;

/**
 * Returns the selectors of Pods in the given namespaces that request a sidecar: by their own label, or by the label of
 * their Namespace. No Pod matches both. The label of a Pod matches with any value except `false`, so that the webhook
 * denies an invalid value.
 */
export function podSelectors({ matchExpressions = [] }: V1LabelSelector): readonly [PodSelectors, PodSelectors] {
  const exists = { key: INJECT_LABEL, operator: "Exists" };
  const notFalse = { key: INJECT_LABEL, operator: "NotIn", values: ["false"] };
  const isUnlabeled = { key: INJECT_LABEL, operator: "DoesNotExist" };
  return [
    { namespaceSelector: { matchExpressions }, objectSelector: { matchExpressions: [exists, notFalse] } },
    {
      namespaceSelector: { matchLabels: { [INJECT_LABEL]: "true" }, matchExpressions },
      objectSelector: { matchExpressions: [isUnlabeled] },
    },
  ];
}
