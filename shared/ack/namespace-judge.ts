import { ofChange, within } from "../core/binding.ts";
import type { Check } from "../core/check.ts";
import type { Judge } from "../core/judge.ts";
import { namespaceChange, type NamespaceChange } from "../core/namespace-change.ts";
import { NAMESPACE } from "../core/namespace-kind.ts";
import { limitCheck } from "../core/size-limits.ts";
import { NS_09, NS_13 } from "./namespace-deletion.ts";
import { NS_01, NS_02 } from "./namespace-labels.ts";
import { NS_07, NS_07_OF_ROLES, NS_07B, NS_08, NS_08_HOSTS, NS_17 } from "./namespace-values.ts";
import { usesOfNamespace } from "./selector-uses.ts";
import { storedNamespace } from "./stored-objects.ts";

/** The checks that run when a Namespace changes. */
const NAMESPACE_CHECKS: readonly Check<NamespaceChange>[] = [
  NS_01, NS_02, NS_07, NS_07_OF_ROLES, NS_07B, NS_08, NS_08_HOSTS, NS_09, NS_13, NS_17,
];
const LIMIT = limitCheck(NAMESPACE.limit);

export const NAMESPACE_JUDGE: Judge = {
  kind: NAMESPACE, checks: [...NAMESPACE_CHECKS, LIMIT],
  bind: within(LIMIT, ofChange(NAMESPACE_CHECKS, namespaceChange)), stored: storedNamespace,
  review: {
    // The review contains the stored Namespace, so that only the selectors can be outdated.
    uses: { check: NS_02, of: usesOfNamespace },
    atRisk: ({ object, old }, settings, inventory) => (
      old === null ? null : inventory.movedBy({ object, old }, settings)
    ),
  },
};
