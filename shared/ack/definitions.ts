import { lostFields } from "./selector-crd.ts";
import { SELECTORS } from "./selectors.ts";
import { RESOURCES } from "./resources.ts";
import { isACKGroup, SELECTOR_GROUP, SELECTOR_KIND, unknownGroups } from "../core/ack-groups.ts";
import type { ACKResource } from "../core/ack-resource.ts";
import { type KnownFields, unknownFields } from "../core/shape.ts";
import { annotationPath, type FieldPath, formatFieldPath, type JsonObject } from "../formats/json.ts";
import { objectReference } from "../formats/object-meta.ts";
import { paced, type Paced } from "../formats/paced.ts";
import { compareText, countOf, listOf } from "../formats/text.ts";
import type { Inventory } from "../core/inventory.ts";
import { DELETION_POLICY_ANNOTATION } from "../core/annotation-keys.ts";
import type { Edit, Repair } from "../core/repair.ts";
import { withWaiver } from "../core/waiver.ts";
import { ACK_FIELDS, prunedFields } from "../core/iamroleselector.ts";
import { accountOfResource, RESOURCES_BETWEEN_PAUSES } from "./change-set.ts";
import { type Selection, selectionFor } from "./selection.ts";
import type { Check, CheckContext, Fault, QuickCheck, ScanningCheck } from "../core/check.ts";
import { resourceInAccount, SCAN_LIMIT } from "../core/fault-texts.ts";
import { ACK_NEEDS } from "./requirements.ts";

/**
 * The deletion of a CustomResourceDefinition. The API server then also deletes every object of the kind, and calls no
 * webhook for these objects.
 */
interface KindDeletion extends CheckContext {
  readonly object: JsonObject;
  readonly group: string;
  readonly kind: string;
}

const PATH = ["spec", "names", "kind"] as const;

export const IRS_34: ScanningCheck<KindDeletion> = {
  id: "IRS-34",
  severity: "deny",
  waivable: true,
  reason:
    "When the CRD is deleted, so is every IAMRoleSelector, without a call to a webhook. Controllers then use their "
    + "own role for every resource that an IAMRoleSelector selected.",
  fix: "first delete each IAMRoleSelector; the webhook denies this deletion if a resource depends on the selector",
  example: "kubectl delete crd iamroleselectors.services.k8s.aws # while an IAMRoleSelector selects Bucket team-a/b1",
  requires: [ACK_NEEDS.resources],
  on: ["DELETE"],
  ofChange: true,
  *scan({ object, group, kind, inventory, settings }: KindDeletion): Paced<readonly Fault[]> {
    if (group !== SELECTOR_GROUP || kind !== SELECTOR_KIND) return [];
    const selectors = inventory.of(SELECTORS).size + inventory.of(SELECTORS).malformed.size;
    // In mode carm, selectors have no effect.
    const selected = settings.mode !== "selectors"
      ? []
      : yield* listMatches(inventory, inventory.of(RESOURCES).all(), (_, one) => one.selectors.length > 0);
    const deleted = `${countOf(selectors, SELECTOR_KIND)} would be deleted with the CustomResourceDefinition`;
    if (selected.length > 0) {
      const message = `${deleted}, and the controller's own role and account would apply to ${countAndList(selected)}`;
      const edits = [withWaiver(object, "IRS-34")];
      return [{ path: PATH, message, fix: IRS_34.fix, repairs: [{ when: "if that is intended", edits }] }];
    }
    if (selectors === 0) return [];
    return [{ path: PATH, message: `${deleted}, but no selector selects a resource now`, severity: "warn" }];
  },
};

export const ACK_34: ScanningCheck<KindDeletion> = {
  id: "ACK-34",
  severity: "deny",
  waivable: true,
  reason:
    "When the CRD is deleted, so is every resource of the kind, without a call to a webhook. Controllers then "
    + "delete or retain each AWS resource, as its deletion policy states.",
  fix: "delete the resources first. To keep them in AWS, annotate each with services.k8s.aws/deletion-policy: retain, "
    + "and ask a waiver user to allow the deletion",
  example: "kubectl delete crd buckets.s3.services.k8s.aws # while Bucket team-a/b1 exists",
  requires: [ACK_NEEDS.resources],
  on: ["DELETE"],
  ofChange: true,
  *scan({ object, group, kind, inventory }: KindDeletion): Paced<readonly Fault[]> {
    if (!isACKGroup(group)) return [];
    const resources = inventory.of(RESOURCES).ofGroup(group);
    const deleted = yield* listMatches(inventory, resources, (resource) => resource.kind === kind);
    if (deleted.length === 0) return [];
    const message = `the deletion of the CustomResourceDefinition also deletes ${countAndList(deleted)}`;
    return [{ path: PATH, message, fix: ACK_34.fix, repairs: deletionRepairs(object, deleted) }];
  },
};

export const KIND_DELETION_CHECKS: readonly Check<KindDeletion>[] = [IRS_34, ACK_34];

/** Returns the first `SCAN_LIMIT` matching resources, sorted by their texts. */
function* listMatches(
  inventory: Inventory,
  resources: Iterable<ACKResource>,
  matches: (resource: ACKResource, selection: Selection) => boolean,
): Paced<Match[]> {
  const found: Match[] = [];
  yield* paced(Array.from(resources), RESOURCES_BETWEEN_PAUSES, (resource) => {
    const selection = selectionFor(inventory, resource);
    if (!matches(resource, selection)) return true;
    found.push({ resource, text: resourceInAccount(resource, accountOfResource({ resource, before: selection })) });
    return found.length < SCAN_LIMIT;
  });
  return found.toSorted((a, b) => compareText(a.text, b.text));
}

interface Match {
  readonly resource: ACKResource;
  /** Such as `Bucket team-a/b1 in account 111122223333`. */
  readonly text: string;
}

function countAndList(resources: readonly Match[]): string {
  const list = listOf(resources.map(({ text }) => text), resources.length, SCAN_LIMIT);
  return `${countOf(resources.length, "resource", SCAN_LIMIT)}: ${list}`;
}

/** Returns the repairs of the deletion of a kind; none if the scan did not list every resource. */
function deletionRepairs(object: JsonObject, resources: readonly Match[]): readonly Repair[] {
  if (resources.length >= SCAN_LIMIT) return [];
  const editsOf = (path: FieldPath, value?: string): Edit[] => resources.map(({ resource }) => {
    const { group, kind, namespace, version } = resource;
    return { path, value, of: { apiVersion: `${group}/${version}`, kind, namespace, name: String(resource.name) } };
  });
  const retained = editsOf(annotationPath(DELETION_POLICY_ANNOTATION), "retain");
  return [
    { when: "to keep them in AWS", edits: [...retained, withWaiver(object, "ACK-34")] },
    { when: "to delete them in AWS too", edits: editsOf([]) },
  ];
}

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
  reason:
    "The API server prunes fields that the CRD of IAMRoleSelector does not define, before the webhook sees them. A "
    + "selector that uses such a field then selects more resources than intended, and no check reports this. A field "
    + "that the CRD of ACK's charts does not define is reported if a selector uses it, or if the manifest that "
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
  reason:
    "The webhook receives and reads only the groups that this release knows and those of --extra-groups. The "
    + "webhook does not review the resources of other ACK groups.",
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
  reason: "Checks ignore the resources of a kind that cannot be listed.",
  fix: "grant the verbs list and watch on the kind; `ack-role-resolver manifests rbac` prints the ClusterRole",
  example: "# The CRD of an ACK kind whose objects the user may not list.",
  on: ["AUDIT"],
  *find({ group, kind, inventory }) {
    if (!inventory.unlisted(RESOURCES).has(`${kind}.${group}`)) return;
    yield { path: ["spec", "names", "plural"], message: "the objects of the kind cannot be listed" };
  },
};

/** The checks of what the webhook does not review and `audit` cannot read. */
export const DEFINITION_CHECKS: readonly DefinitionCheck[] = [AUD_08, AUD_09, AUD_10];
