import { describeIdentity } from "../../identities/denials.ts";
import type { IdentityReference } from "../../identities/identity.ts";
import { identityKindOf } from "../../identities/kinds.ts";
import { credentialsOf, type Referrer, referrerPath } from "../../identities/referrer.ts";
import { subdomainFaults } from "../../kubernetes/names.ts";
import type { Fault, QuickCheck } from "../check.ts";
import { identityUseRule, useFix } from "../access/use-permission.ts";
import type { ClusterChange } from "./change.ts";

export const AC_05: QuickCheck<ClusterChange> = {
  id: "AC-05",
  severity: "off",
  waivable: false,
  reason: "Anyone who can write a cluster in a namespace can make CAPA act with each identity that allows the "
    + "namespace. If this check is on, a requester who creates an object with an identityRef, or changes its "
    + "identityRef, needs the verb `use` on the identity. An object without identityRef uses the "
    + "AWSClusterControllerIdentity `default`. The service account of CAPA (`--capa-service-accounts`) does not need "
    + "the verb.",
  fix: `create a Role in the namespace of the object, or a ClusterRole, with the rule ${identityUseRule(null)}, `
    + "and a RoleBinding in that namespace that grants it to the requester",
  example: "an AWSCluster created by a user without the verb use on the identity in its identityRef",
  requires: ["access reviews"],
  ofChange: true, // the webhook does not know who wrote the stored object
  *find({ access, referrer, stored }): Iterable<Fault> {
    const reference = usedIdentity(referrer, stored);
    if (reference === null) return;
    const answer = access?.get(reference.name) ?? "unknown";
    const path = referrerPath(referrer);
    if (answer === "denied") {
      const message = `the requester may not use ${describeIdentity(reference)}`;
      yield { path, message, fix: useFix(identityUseRule(reference), referrer.namespace) };
    }
    if (answer === "unknown") {
      const message = `the webhook could not verify that the requester may use ${describeIdentity(reference)}`;
      yield { path, message, fix: "retry in a moment; the webhook log shows why the access review failed" };
    }
  },
};

/**
 * Returns the identity that the object uses only after the change, or null. Returns null for a kind or a name that no
 * identity can have.
 */
export function usedIdentity(referrer: Referrer, stored: Referrer | null): IdentityReference | null {
  const reference = credentialsOf(referrer);
  if (identityKindOf(reference.kind) === null || subdomainFaults(reference.name).length > 0) return null;
  const before = stored === null ? null : credentialsOf(stored);
  return before?.kind === reference.kind && before.name === reference.name ? null : reference;
}
