import { REPLACES_ANNOTATION } from "../../annotation-keys.ts";
import type { Inventory } from "../../inventory/inventory.ts";
import { accountOfARN } from "../../kubernetes/arn.ts";
import { compareText, countOf, listOf } from "../../kubernetes/text.ts";
import { accountOfResource, recreationHint, type Transition } from "../../resolution/change-set.ts";
import type { EffectiveSelector } from "../../selectors/effective.ts";
import type { Fault, ScanningCheck } from "../check.ts";
import { listHits, resourceInAccount } from "../message-lists.ts";
import { deletionPolicyOf } from "../resources/deletion.ts";
import type { SelectorChange } from "./change.ts";
import { CHOICE_FIX, FALLS_BACK, LOSES_CHOICE } from "./moves.ts";

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
    const faults: Fault[] = [];
    const hits = yield* effects.of("loses selector");
    if (hits.found > 0) {
      faults.push({
        path: PATH,
        message: listHits(hits, { noun: "resource", effect: FALLS_BACK }),
        fix: "delete the resources first, or create a replacement: a selector with another name, "
          + `the spec of ${name}, a role in the same account and the annotation ${REPLACES_ANNOTATION}: ${name}. `
          + `Then retry the deletion of ${name}`,
      });
    }
    const choices = yield* effects.of("loses choice");
    if (choices.found > 0) {
      const message = listHits(choices, { noun: "resource", effect: LOSES_CHOICE });
      faults.push({ path: PATH, message, fix: CHOICE_FIX });
    }
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
    return [{ path: PATH, message: listHits(hits, { noun: "resource", effect, itemOf }), fix }];
  },
};

export const IRS_32: ScanningCheck<SelectorChange> = {
  id: "IRS-32",
  severity: "warn",
  waivable: false,
  reason: "When one of two conflicting selectors is deleted, controllers use the role of the other selector. "
    + "Controllers reconcile new resources within minutes, and existing resources at the next resync.",
  fix: "make sure that this is the selector to delete",
  example: "kubectl delete iamroleselector team-a # while team-a-new selects the same resources",
  requires: ["resources"],
  on: ["DELETE"],
  ofChange: true,
  *scan({ effects }) {
    yield* effects.of("leaves conflict", Infinity);
    const remaining = [...effects.remainingSelectors].toSorted(([a], [b]) => compareText(a.name, b.name));
    return remaining.map(([{ name, roleARN }, count]) => {
      const resources = countOf(count, "resource");
      return {
        path: PATH,
        message: `the deletion ends a conflict: ${resources} would be selected only by ${name} (${roleARN})`,
      };
    });
  },
};

export const IRS_33: ScanningCheck<SelectorChange> = {
  id: "IRS-33",
  severity: "warn",
  waivable: false,
  reason: "The deletion is safe: another selector, whose role is in the same account, selects every resource of "
    + "the deleted selector. To rename a selector or to rotate its role, delete the old selector in this way.",
  fix: "continue with the deletion: no resource changes its account",
  example:
    "kubectl delete iamroleselector team-a # while team-a-new selects the same resources in the same account",
  requires: ["resources"],
  on: ["DELETE"],
  ofChange: true,
  *scan({ before, effects }) {
    const lost = yield* effects.of("loses selector");
    const choices = yield* effects.of("loses choice");
    const { found } = yield* effects.of("leaves conflict", Infinity);
    const [only, another] = effects.remainingSelectors.keys();
    if (before === null || lost.found + choices.found > 0 || only === undefined || another !== undefined) return [];
    const account = accountOfARN(before.roleARN);
    if (account !== accountOfARN(only.roleARN)) return [];
    const resources = `every resource of this selector (${countOf(found, "resource")})`;
    const message = `${only.name} selects ${resources}, and its role is in the same account ${String(account)}`;
    return [{ path: PATH, message }];
  },
};
