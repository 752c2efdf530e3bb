import { type Hits, listHits } from "./hits.ts";
import { resourceName } from "../core/ack-resource.ts";
import { RESOURCES } from "./resources.ts";
import { REPLACES_ANNOTATION, USE_SELECTOR_ANNOTATION } from "../core/annotation-keys.ts";
import { accountMoveOf, accountOfResource, recreationHint, type Transition } from "./change-set.ts";
import type { FieldPath } from "../formats/json.ts";
import type { Paced } from "../formats/paced.ts";
import type { Fault, ScanningCheck } from "../core/check.ts";
import { resourceInAccount, SCAN_LIMIT } from "../core/fault-texts.ts";
import { by, type Repair } from "../core/repair.ts";
import { replacementRepairs, restoreSpec, withoutNamespaces } from "./selector-repairs.ts";
import type { SelectorChange, SelectorEffects } from "./selector-change.ts";
import type { Inventory } from "../core/inventory.ts";
import { compareText, listOf } from "../formats/text.ts";
import type { EffectiveSelector } from "../core/effective-selector.ts";
import { deletionPolicyOf } from "./resource-drift.ts";
import { NEEDS } from "../core/requirements.ts";
import { ACK_NEEDS } from "./requirements.ts";

/** The effect on resources that no selector selects after the change. */
const FALLS_BACK =
  "would fall back to the controller's own role and account, because no other selector matches";

/** The effect on resources whose annotation names a selector that no longer selects them. */
const LOSES_CHOICE = `would have no role, because the annotation ${USE_SELECTOR_ANNOTATION} names this selector`;

/** The fix of `LOSES_CHOICE`. */
const CHOICE_FIX = `first change the annotation ${USE_SELECTOR_ANNOTATION} of these resources or of their `
  + "namespaces: name another selector that selects the resources, or remove the annotation. Then try again";

export const IRS_19: ScanningCheck<SelectorChange> = {
  id: "IRS-19",
  severity: "deny",
  waivable: true,
  reason: "Controllers never reconcile a resource whose status and role are in different accounts. Controllers set no "
    + "condition, and the finalizer blocks the deletion of the resource. If a selector has the annotation "
    + `${REPLACES_ANNOTATION}, the check also compares the role of that selector with the account of each resource.`,
  fix: "restrict the selector or use a role in the account of the resources. "
    + "To move a resource, delete it and create it again",
  example: "# while Bucket team-a/b1 exists in account 111122223333\n"
    + "spec: {arn: 'arn:aws:iam::444455556666:role/b', namespaceSelector: {names: [team-a]}}",
  requires: [ACK_NEEDS.resources],
  on: ["CREATE", "UPDATE", "DELETE"],
  ofChange: true,
  *scan(change) {
    const { effects } = change;
    const hits = yield* effects.of("changes account");
    if (hits.found === 0) return [];
    const itemOf = (transition: Transition): string => {
      const move = accountMoveOf(transition, effects.controllerAccount);
      return `${resourceName(transition.resource)} from account ${move?.from} to account ${move?.to}`;
    };
    const effect = "would move to a different account, which controllers reject";
    return [{
      path: ["spec"],
      message: listHits(hits, effect, itemOf),
      fix: IRS_19.fix + recreationHint(hits.first.map(({ resource }) => resource)),
      repairs: moveRepairs(hits, change),
    }];
  },
};

/** Returns the repair that leaves the resources their roles. */
function moveRepairs({ found, first }: Hits, change: SelectorChange): readonly Repair[] {
  if (change.operation === "DELETE") return replacementRepairs(change, { found, first });
  if (change.storedObject !== null) return restoreSpec(change);
  const narrowed = withoutNamespaces(change.object, new Set(first.map(({ resource }) => resource.namespace)));
  return narrowed === null || found >= SCAN_LIMIT ? [] : by(narrowed);
}

export const IRS_20: ScanningCheck<SelectorChange> = {
  id: "IRS-20",
  severity: "deny",
  waivable: true,
  reason: "Controllers use their own role for a resource that no selector selects. "
    + "Controllers then create or delete the resource in their own account.",
  fix: "keep selecting the resources, or first create a replacement selector "
    + `that has the annotation ${REPLACES_ANNOTATION}: NAME of this selector`,
  example:
    "# before: names: [team-a, team-b], and Bucket team-a/b1 exists\nspec: {namespaceSelector: {names: [team-b]}}",
  requires: [ACK_NEEDS.resources, NEEDS.storedObject],
  ofChange: true,
  *scan(change) {
    const { effects, spec: { name } } = change;
    const fix = `keep selecting the resources with ${name}, or first create a replacement: a selector for the `
      + `resources, with a role in the same account and the annotation ${REPLACES_ANNOTATION}: ${name}. `
      + "Then apply this change again";
    return yield* lossFaults(effects, { path: ["spec"], fix, repairsOf: () => restoreSpec(change) });
  },
};

/** What a check says of resources that lose their selector. */
interface Loss {
  readonly path: FieldPath;
  readonly fix: string;
  readonly repairsOf: (hits: Hits) => readonly Repair[];
}

/** Returns the faults of a change after which the selector no longer selects resources. */
function* lossFaults(effects: SelectorEffects, { path, fix, repairsOf }: Loss): Paced<Fault[]> {
  const faults: Fault[] = [];
  const hits = yield* effects.of("loses selector");
  if (hits.found > 0) faults.push({ path, message: listHits(hits, FALLS_BACK), fix, repairs: repairsOf(hits) });
  const choices = yield* effects.of("loses choice");
  if (choices.found > 0) faults.push({ path, message: listHits(choices, LOSES_CHOICE), fix: CHOICE_FIX });
  return faults;
}

const NAME_PATH = ["metadata", "name"] as const;

export const IRS_30: ScanningCheck<SelectorChange> = {
  id: "IRS-30",
  severity: "deny",
  waivable: true,
  reason: "Controllers silently use their own role for a resource that loses its selector. "
    + "Controllers then create a second AWS resource in their own account. When the resource is deleted, "
    + "controllers do not delete the first AWS resource.",
  fix: "delete the resources first, or create a replacement: a selector with the same spec, a role in the same account "
    + `and the annotation ${REPLACES_ANNOTATION}: NAME of this selector. Then retry this deletion`,
  example: "kubectl delete iamroleselector team-a # while only team-a selects Bucket team-a/b1",
  requires: [ACK_NEEDS.resources],
  on: ["DELETE"],
  ofChange: true,
  *scan(change) {
    const { before, effects, spec: { name }, inventory } = change;
    const fix = "delete the resources first, or create a replacement: a selector with another name, the spec of "
      + `${name}, a role in the same account and the annotation ${REPLACES_ANNOTATION}: ${name}. Then retry the `
      + `deletion of ${name}`;
    const repairsOf = (hits: Hits): readonly Repair[] => replacementRepairs(change, hits);
    const faults = yield* lossFaults(effects, { path: NAME_PATH, fix, repairsOf });
    if (faults.length > 0) return faults;
    const unlisted = unlistedKinds(inventory, before);
    if (unlisted.length === 0) return [];
    const kinds = listOf(unlisted);
    const message = `the objects of ${kinds} are not listed, so the selector may select some of them`;
    return [{ path: NAME_PATH, message, fix: LIST_FIX }];
  },
};

const LIST_FIX = "if the kind was just installed, retry in a few seconds; otherwise grant the webhook permission to "
  + "list these objects (manifests rbac --extra-groups GROUP), or verify that the selector selects none of these "
  + "objects and waive this check";

/** Returns the kinds that the selector could select but whose objects are not listed, sorted. */
function unlistedKinds(inventory: Inventory, selector: EffectiveSelector | null): string[] {
  if (selector === null) return [];
  const couldSelect = (kind: string): boolean => (
    selector.types === null || selector.types.coversGroup(kind.slice(kind.indexOf(".") + 1))
  );
  return [...inventory.unlisted(RESOURCES)].filter(couldSelect).toSorted(compareText);
}

export const IRS_31: ScanningCheck<SelectorChange> = {
  id: "IRS-31",
  severity: "deny",
  reason:
    "The controller would delete the resources with its own credentials, which belong to a different account. The "
    + "controller would orphan the AWS resource, or delete a resource of the same name in its own account.",
  fix: "create a replacement selector with a role in the same account "
    + `and the annotation ${REPLACES_ANNOTATION}: NAME of this selector. `
    + "Otherwise, wait until the resources that are being deleted no longer exist, "
    + "and annotate all other resources with services.k8s.aws/deletion-policy: retain",
  example: "kubectl delete iamroleselector team-a # while Bucket team-a/b1 is being deleted in the account of team-a",
  requires: [ACK_NEEDS.resources, NEEDS.controllerAccount],
  on: ["DELETE"],
  ofChange: true,
  *scan(change) {
    const { effects, inventory } = change;
    const hits = yield* effects.of("loses account");
    if (hits.found === 0) return [];
    const itemOf = (transition: Transition): string => {
      const { resource } = transition;
      const cause = resource.deleting ? "being deleted" : `deletion policy ${deletionPolicyOf(inventory, resource)}`;
      return `${resourceInAccount(resource, accountOfResource(transition))} (${cause})`;
    };
    const effect = "would be deleted or orphaned with the controller's own credentials "
      + `for account ${String(effects.controllerAccount)}`;
    const fix = IRS_31.fix + recreationHint(hits.first.map(({ resource }) => resource));
    const repairs = replacementRepairs(change, hits);
    return [{ path: NAME_PATH, message: listHits(hits, effect, itemOf), fix, repairs }];
  },
};
