import { AC_08 } from "../../shared/decisions/checks/any-kind/limits.ts";
import { ACK_02 } from "../../shared/decisions/checks/resolution-annotations.ts";
import { CHANGES_MORE_THAN_BOOKKEEPING } from "../conditions.ts";
import { CLUSTERS, exceptNamespaces } from "../webhook-rules.ts";
import type { WebhookOptions } from "../webhooks.ts";
import { fieldVariables } from "./cel.ts";
import type { Policy, PolicySettings } from "./policy.ts";
import { exemption, isCAPA, waiverVariables, WAIVERS } from "./requester.ts";
import { OF_CLUSTERS, resolutionCheck } from "./resolution.ts";
import { metadataLimitCheck } from "./resources.ts";

/**
 * Returns the policy for the annotations of objects that refer to CAPA identities. Exempts CAPA itself from
 * all checks except WAIVER-01.
 */
export function clusterPolicy(settings: PolicySettings, { namespace }: Pick<WebhookOptions, "namespace">): Policy {
  const { variable, unlessExempt } = exemption(isCAPA(settings));
  return {
    name: "clusters",
    match: {
      matchPolicy: "Equivalent",
      namespaceSelector: exceptNamespaces(["kube-system", namespace]),
      resourceRules: CLUSTERS,
    },
    conditions: [CHANGES_MORE_THAN_BOOKKEEPING],
    variables: [
      variable,
      ...fieldVariables("annotations", "metadata.annotations", "{}"),
      ...fieldVariables("labels", "metadata.labels", "{}"),
      ...waiverVariables(settings),
    ],
    checks: [...[resolutionCheck(ACK_02, OF_CLUSTERS), metadataLimitCheck(AC_08)].map(unlessExempt), WAIVERS],
  };
}
