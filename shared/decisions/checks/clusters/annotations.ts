import type { QuickCheck } from "../check.ts";
import { wrongAnnotations } from "../resolution-annotations.ts";
import type { ClusterChange } from "./change.ts";

export const AC_09: QuickCheck<ClusterChange> = {
  id: "AC-09",
  severity: "warn",
  waivable: false,
  reason: "Only the webhook writes the annotations that report the identity of a cluster. Without this check, a user "
    + "could annotate a cluster with an identity that the cluster does not use.",
  fix: "remove the annotation; the webhook sets the resolved value",
  example: "metadata: {annotations: {ack-role-resolver.io/identity-chain: AWSClusterRoleIdentity/admin}}",
  requires: ["identities"],
  find({ referrer, stored, resolution }) {
    // Omits stored values: CAPA repeats stale annotations, because the webhook does not change the writes of CAPA.
    const changed = [...referrer.annotations].filter(([key, value]) => stored?.annotations.get(key) !== value);
    return wrongAnnotations(new Map(changed), resolution);
  },
};
