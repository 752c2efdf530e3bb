import { REPLACES_ANNOTATION } from "../contract/annotation-keys.ts";
import type { Inventory } from "../inventory/inventory.ts";
import { compareText, listOf } from "../formats/text.ts";
import { accountOfResource, recreationHint, type Transition } from "../resolution/change-set.ts";
import type { EffectiveSelector } from "../model/effective-selector.ts";
import type { ScanningCheck } from "./check.ts";
import { listHits, resourceInAccount } from "./message-lists.ts";
import { deletionPolicyOf } from "./resource-deletion.ts";
import type { SelectorChange } from "./selector-change.ts";
import { lossFaults } from "./selector-moves.ts";

const PATH = ["metadata", "name"] as const;

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
  requires: ["resources"],
  on: ["DELETE"],
  ofChange: true,
  *scan({ before, effects, spec: { name }, inventory }) {
    const faults = yield* lossFaults(
      effects, PATH, "delete the resources first, or create a replacement: a selector with another name, the spec of "
      + `${name}, a role in the same account and the annotation ${REPLACES_ANNOTATION}: ${name}. Then retry the `
      + `deletion of ${name}`,
    );
    if (faults.length > 0) return faults;
    const unlisted = unlistedKinds(inventory, before);
    if (unlisted.length === 0) return [];
    const kinds = listOf(unlisted);
    const message = `the objects of ${kinds} are not listed, so the selector may select some of them`;
    return [{ path: PATH, message, fix: LIST_FIX }];
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
  return [...inventory.unlisted("resources")].filter(couldSelect).toSorted(compareText);
}

export const IRS_31: ScanningCheck<SelectorChange> = {
  id: "IRS-31",
  severity: "deny",
  waivable: false,
  reason: "The controller would delete the resources of this selector with the controller's own credentials, which "
    + "belong to a different account. The controller would orphan the AWS resource, or delete a resource of the same "
    + "name in its own account.",
  fix: "create a replacement selector with a role in the same account "
    + `and the annotation ${REPLACES_ANNOTATION}: NAME of this selector. `
    + "Otherwise, wait until the resources that are being deleted no longer exist, "
    + "and annotate all other resources with services.k8s.aws/deletion-policy: retain",
  example: "kubectl delete iamroleselector team-a # while Bucket team-a/b1 is being deleted in the account of team-a",
  requires: ["resources", "--controller-account or --controller-role"],
  on: ["DELETE"],
  ofChange: true,
  *scan({ effects, inventory }) {
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
    return [{ path: PATH, message: listHits(hits, effect, itemOf), fix }];
  },
};
