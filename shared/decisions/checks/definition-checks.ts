import type { Inventory } from "../inventory/inventory.ts";
import { SELECTOR_GROUP, SELECTOR_KIND, unknownGroups } from "../kubernetes/kinds.ts";
import { prunedFields } from "../selectors/pruned-fields.ts";
import type { CheckEntry, Fault } from "./check.ts";

/** A CustomResourceDefinition of an ACK kind or of IAMRoleSelector. */
export interface AuditedDefinition {
  readonly group: string;
  readonly kind: string;
  readonly inventory: Inventory;
  /** The groups of `--extra-groups`. */
  readonly extraGroups: readonly string[];
}

/** A check of a CustomResourceDefinition that only `audit` runs. */
interface DefinitionCheck extends CheckEntry {
  readonly section: "checks";
  readonly supersedes: readonly string[];
  readonly findInDefinition: (subject: AuditedDefinition) => Iterable<Fault>;
}

const COMMON = { waivable: false, section: "checks", supersedes: [] } as const;

export const AUD_08: DefinitionCheck = {
  ...COMMON,
  id: "AUD-08",
  severity: "warn",
  reason: "Before the API server calls the webhook, it prunes the fields that the CRD of IAMRoleSelector does not "
    + "define. A selector that uses such a field then selects more resources than intended, and no check reports this.",
  fix: "do not use these fields, or install the CRD that `ack-role-resolver manifests crds --own-crd` prints",
  example: "# The CRD of ACK's charts, which does not define matchExpressions.",
  *findInDefinition({ group, kind, inventory: { kinds: { selectorFields } } }) {
    if (group !== SELECTOR_GROUP || kind !== SELECTOR_KIND || selectorFields === null) return;
    const pruned = prunedFields(selectorFields);
    if (pruned.length === 0) return;
    yield { path: ["spec", "versions"], message: `the CRD does not define ${pruned.join(", ")}` };
  },
};

export const AUD_09: DefinitionCheck = {
  ...COMMON,
  id: "AUD-09",
  severity: "warn",
  reason: "The RBAC rules and the webhook configurations of this release contain only the ACK groups that this release "
    + "knows and the groups of --extra-groups. The webhook does not review the resources of other ACK groups.",
  fix: "render the manifests and start the webhook with --extra-groups set to the group, or upgrade",
  example: "# The CRD of a kind in a new ACK group, new.services.k8s.aws.",
  *findInDefinition({ group, extraGroups }) {
    if (unknownGroups([group], extraGroups).length === 0) return;
    yield { path: ["spec", "group"], message: "this release does not know the ACK group of the kind" };
  },
};

export const AUD_10: DefinitionCheck = {
  ...COMMON,
  id: "AUD-10",
  severity: "warn",
  reason: "Checks ignore the resources of a kind that cannot be listed, so the report omits their problems.",
  fix: "grant the verbs list and watch on the kind; `ack-role-resolver manifests rbac` prints the ClusterRole",
  example: "# The CRD of an ACK kind whose objects the user may not list.",
  *findInDefinition({ group, kind, inventory }) {
    if (!inventory.unlisted("resources").has(`${kind}.${group}`)) return;
    yield { path: ["spec", "names", "plural"], message: "the objects of the kind cannot be listed" };
  },
};
