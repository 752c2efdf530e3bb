import { type FieldPath, formatFieldPath } from "../../kubernetes/field-path.ts";
import type { Inventory } from "../../inventory/inventory.ts";
import type { JsonObject } from "../../kubernetes/json.ts";
import { SELECTOR_GROUP, SELECTOR_KIND, unknownGroups } from "../../kubernetes/kinds.ts";
import { objectReference } from "../../kubernetes/object-meta.ts";
import { type KnownFields, unknownFields } from "../../kubernetes/shape.ts";
import { listOf } from "../../kubernetes/text.ts";
import { ACK_FIELDS } from "../../selectors/ack-schema.ts";
import { prunedFields } from "../../selectors/pruned-fields.ts";
import { lostFields } from "../selectors/stored.ts";
import type { QuickCheck } from "../check.ts";

/** A stored CustomResourceDefinition of an ACK kind or of IAMRoleSelector. */
interface StoredDefinition {
  readonly group: string;
  readonly kind: string;
  readonly inventory: Inventory;
  /** The stored IAMRoleSelectors. */
  readonly selectors: readonly JsonObject[];
  /** The groups of `--extra-groups`. */
  readonly extraGroups: readonly string[];
}

type DefinitionCheck = QuickCheck<StoredDefinition>;

export const AUD_08: DefinitionCheck = {
  id: "AUD-08",
  severity: "warn",
  waivable: false,
  reason: "Before the API server calls the webhook, it prunes the fields that the CRD of IAMRoleSelector does not "
    + "define. A selector that uses such a field then selects more resources than intended, and no check reports this. "
    + "A field that the CRD of ACK's charts does not define is reported if a selector uses it, or if the manifest that "
    + "kubectl applied last uses it.",
  fix: "do not use these fields, or install the CRD that `ack-role-resolver manifests crds` prints",
  example: "# The CRD of ACK's charts, which does not define matchExpressions, and a selector with matchExpressions.",
  on: ["AUDIT"],
  *find({ group, kind, inventory: { kinds: { selectorFields } }, selectors }) {
    if (group !== SELECTOR_GROUP || kind !== SELECTOR_KIND || selectorFields === null) return;
    const path = ["spec", "versions"];
    const users = usersOfFields(selectors, selectorFields);
    for (const name of prunedFields(selectorFields)) {
      const problem = `the CRD does not define ${name}`;
      const names = users.get(name) ?? [];
      const usage = `IAMRoleSelectors that use the field: ${listOf(names)}`;
      if (names.length > 0) yield { path, message: `${problem}; ${usage}` };
      else if (!PRUNED_BY_ACK.has(name)) yield { path, message: `${problem}, which the CRD of ACK's charts defines` };
    }
  },
};

/** The fields that the CRD of ACK's charts does not define. Most clusters have this CRD. */
const PRUNED_BY_ACK: ReadonlySet<string> = new Set(prunedFields(ACK_FIELDS));

/** Returns the names of the selectors that use each field that the CRD does not define, by the name of the field. */
function usersOfFields(selectors: readonly JsonObject[], served: KnownFields): ReadonlyMap<string, readonly string[]> {
  const users = new Map<string, string[]>();
  for (const object of selectors) {
    const set = Array.from(unknownFields(served, object), ({ path }) => path);
    const fields = new Set([...set, ...lostFields(object, served)].map(fieldName));
    for (const name of fields) {
      const names = users.get(name) ?? [];
      names.push(objectReference(object).name);
      users.set(name, names);
    }
  }
  return users;
}

/** Returns the name of a field in any item of a list, such as `spec.resourceTypeSelector[].apiVersion`. */
function fieldName(path: FieldPath): string {
  return formatFieldPath(path).replace(/\[\d+\]/g, "[]");
}

export const AUD_09: DefinitionCheck = {
  id: "AUD-09",
  severity: "warn",
  waivable: false,
  reason: "The RBAC rules and the webhook configurations of this release contain only the ACK groups that this release "
    + "knows and the groups of --extra-groups. The webhook does not review the resources of other ACK groups.",
  fix: "render the manifests and start the webhook with --extra-groups set to the group, or upgrade",
  example: "# The CRD of a kind in a new ACK group, new.services.k8s.aws.",
  on: ["AUDIT"],
  *find({ group, extraGroups }) {
    if (unknownGroups([group], extraGroups).length === 0) return;
    yield { path: ["spec", "group"], message: "this release does not know the ACK group of the kind" };
  },
};

const AUD_10: DefinitionCheck = {
  id: "AUD-10",
  severity: "warn",
  waivable: false,
  reason: "Checks ignore the resources of a kind that cannot be listed, so the report omits their problems.",
  fix: "grant the verbs list and watch on the kind; `ack-role-resolver manifests rbac` prints the ClusterRole",
  example: "# The CRD of an ACK kind whose objects the user may not list.",
  on: ["AUDIT"],
  *find({ group, kind, inventory }) {
    if (!inventory.unlisted("resources").has(`${kind}.${group}`)) return;
    yield { path: ["spec", "names", "plural"], message: "the objects of the kind cannot be listed" };
  },
};

/** The checks of what the webhook does not review and `audit` cannot read. */
export const DEFINITION_CHECKS: readonly DefinitionCheck[] = [AUD_08, AUD_09, AUD_10];
