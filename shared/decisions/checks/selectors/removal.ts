import { REPLACES_ANNOTATION } from "../../annotation-keys.ts";
import type { Inventory } from "../../inventory/inventory.ts";
import { accountOfARN } from "../../kubernetes/arn.ts";
import { compareText, countOf, listOf } from "../../kubernetes/text.ts";
import { accountOf, type Transition } from "../../resolution/change-set.ts";
import { deletionPolicyOf } from "../../resolution/deletion-policy.ts";
import type { EffectiveSelector } from "../../selectors/effective.ts";
import type { ScanningCheck } from "../check.ts";
import { describe, placeOf } from "../message-lists.ts";
import type { SelectorChange } from "./change.ts";
import { FALL_BACK } from "./moves.ts";

export const IRS_30: ScanningCheck<SelectorChange> = {
  id: "IRS-30",
  severity: "deny",
  waivable: true,
  reason: "What loses its selector is silently managed with the controller's own role: created a second time in the controller's account, or let go there.",
  fix: "delete the resources first, or create a selector that takes them over: the same spec with a role of the same account, "
    + `and the annotation ${REPLACES_ANNOTATION}: NAME of this one; then delete this one again`,
  example: "kubectl delete iamroleselector team-a # and team-a/b1 is selected by it alone",
  requires: ["resources"],
  on: ["DELETE"],
  ofChange: true,
  *scan({ before, effects, spec, inventory }) {
    const hits = yield* effects.of("loses selector");
    const unlisted = unlistedOf(inventory, before);
    if (hits.found > 0) {
      return [{
        path: ["metadata", "name"],
        message: describe(hits, { noun: "resource", what: FALL_BACK }),
        fix: `delete the resources first, or create a selector that takes them over: the spec of ${spec.name} under another name, with a role `
          + `of the same account and the annotation ${REPLACES_ANNOTATION}: ${spec.name}; then delete ${spec.name} again`,
      }];
    }
    if (unlisted.length === 0) return [];
    return [{ path: ["metadata", "name"], message: `what it selects of ${listOf(unlisted)} is not known, since those could not be listed`, fix: LIST_THEM }];
  },
};

const LIST_THEM = "let the webhook list them (install its rights with manifests rbac --extra-groups GROUP), or see for yourself that it selects none of them and waive this check";

/** The kinds that the selector could select and of which nothing is known: that it selects none of them is then no answer. */
function unlistedOf(inventory: Inventory, selector: EffectiveSelector | null): string[] {
  if (selector === null) return [];
  const couldSelect = (kind: string): boolean => selector.types === null || selector.types.some(({ group }) => group === "" || kind.endsWith(`.${group}`));
  return [...inventory.unlisted("resources")].filter(couldSelect).toSorted(compareText);
}

export const IRS_31: ScanningCheck<SelectorChange> = {
  id: "IRS-31",
  severity: "deny",
  waivable: false,
  reason: "With the controller's own credentials the deletion of a resource of another account finds nothing there, or a namesake: one is orphaned or the other deleted.",
  fix: "wait until those that are being deleted are gone, annotate the others with services.k8s.aws/deletion-policy: retain, or create a selector that takes them over, "
    + `with a role of the same account and the annotation ${REPLACES_ANNOTATION}: NAME of this one`,
  example: "kubectl delete iamroleselector team-a # and team-a/b1, in another account than the controller's, is being deleted",
  requires: ["resources", "--controller-account or --controller-role"],
  on: ["DELETE"],
  ofChange: true,
  *scan({ effects, inventory }) {
    const hits = yield* effects.of("loses account");
    if (hits.found === 0) return [];
    const place = (transition: Transition): string => {
      const { resource } = transition;
      const why = resource.deleting ? "being deleted" : `deletion policy ${deletionPolicyOf(inventory, resource)}`;
      return `${placeOf(resource, accountOf(transition))} (${why})`;
    };
    const what = `would be deleted or orphaned with the controller's own credentials, which are of account ${String(effects.controllerAccount)}`;
    return [{ path: ["metadata", "name"], message: describe(hits, { noun: "resource", what, place }) }];
  },
};

export const IRS_32: ScanningCheck<SelectorChange> = {
  id: "IRS-32",
  severity: "warn",
  waivable: false,
  reason: "With one of the selectors of a conflict gone controllers go on with the other, within minutes for new resources and at the resync for others.",
  fix: "see that this is the one to go",
  example: "kubectl delete iamroleselector team-a # and team-a-new selects the same resources",
  requires: ["resources"],
  on: ["DELETE"],
  ofChange: true,
  *scan({ effects }) {
    yield* effects.of("leaves conflict", Infinity);
    const survivors = [...effects.survivors].toSorted(([a], [b]) => compareText(a.name, b.name));
    return survivors.map(([{ name, roleARN }, left]) => (
      { path: ["metadata", "name"], message: `its removal ends a conflict: ${countOf(left, "resource")} left to ${name} alone, ${roleARN}` }
    ));
  },
};

export const IRS_33: ScanningCheck<SelectorChange> = {
  id: "IRS-33",
  severity: "warn",
  waivable: false,
  reason: "The safe way to rename a selector or to rotate its role: another one has all that this one selects, in the same account.",
  fix: "go on: nothing changes its account",
  example: "kubectl delete iamroleselector team-a # and team-a-new selects all the same resources, with a role of the same account",
  requires: ["resources"],
  on: ["DELETE"],
  ofChange: true,
  *scan({ before, effects }) {
    const lost = yield* effects.of("loses selector");
    const { found } = yield* effects.of("leaves conflict", Infinity);
    const [only, another] = effects.survivors.keys();
    if (before === null || lost.found > 0 || only === undefined || another !== undefined) return [];
    const account = accountOfARN(before.roleARN);
    if (account !== accountOfARN(only.roleARN)) return [];
    return [{ path: ["metadata", "name"], message: `${only.name} selects all that it selects, ${countOf(found, "resource")}, and for the same account ${String(account)}` }];
  },
};
