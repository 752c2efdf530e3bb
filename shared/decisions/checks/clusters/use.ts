import type { AccessByName } from "../../context.ts";
import { CLUSTER_LABEL } from "../../identities/referrer.ts";
import type { Fault, QuickCheck } from "../check.ts";
import { identityUseRule, useFix } from "../access/use-permission.ts";
import type { IdentityUse } from "./identity-uses.ts";

/** A change of an object for which CAPA uses an identity. */
export interface UseChange {
  readonly namespace: string;
  /** Returns the result of `identityUses`. */
  readonly uses: () => ReadonlyMap<string, IdentityUse>;
  /** Whether the requester may use each identity; null if no access review was made. */
  readonly access: AccessByName | null;
}

export const AC_05: QuickCheck<UseChange> = {
  id: "AC-05",
  severity: "off",
  waivable: false,
  reason: "Anyone who can write a cluster in a namespace can make CAPA act with each identity that allows the "
    + "namespace. If this check is on, a requester who creates, changes or deletes an object needs the verb `use` on "
    + "the identity that it uses before or after the change. An object without identityRef uses the "
    + "AWSClusterControllerIdentity `default`. A machine, a pool or a Fargate profile uses the identities of the "
    + `Cluster that its label \`${CLUSTER_LABEL}\` or \`spec.clusterName\` names. If the webhook knows no identity of `
    + "the Cluster, the requester needs the verb on every identity. The service accounts of CAPA "
    + "(`--capa-service-accounts`) do not need the verb. Those of Cluster API (`--cluster-api-service-accounts`) need "
    + "it only to set an identityRef.",
  fix: `create a Role in the namespace of the object, or a ClusterRole, with the rule ${identityUseRule(null)}, `
    + "and a RoleBinding in that namespace that grants it to the requester",
  example: "an AWSCluster created by a user without the verb use on the identity in its identityRef",
  requires: ["access reviews"],
  on: ["CREATE", "UPDATE", "DELETE"],
  ofChange: true, // the webhook does not know who wrote the stored object
  *find({ access, namespace, uses }): Iterable<Fault> {
    for (const [key, { fix, identity, path, what }] of uses()) {
      const answer = access?.get(key) ?? "unknown";
      if (answer === "denied") {
        const message = identity === null
          ? `${what}, so the requester needs the verb use on every identity`
          : `the requester may not use ${what}`;
        yield { path, message, fix: fix ?? useFix(identityUseRule(identity), namespace) };
      }
      if (answer === "unknown") {
        const used = identity === null ? `every identity, which is required because ${what}` : what;
        const message = `the webhook could not verify that the requester may use ${used}`;
        yield { path, message, fix: "retry in a moment; the webhook log shows why the access review failed" };
      }
    }
  },
};
