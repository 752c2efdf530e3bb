import { REPLACES_ANNOTATION, USE_SELECTOR_ANNOTATION } from "../../annotation-keys.ts";
import { accountMoveOf, recreationHint, resourceName, type Transition } from "../../resolution/change-set.ts";
import type { Fault, ScanningCheck } from "../check.ts";
import { listHits } from "../message-lists.ts";
import type { SelectorChange } from "./change.ts";

/** The effect on resources that no selector selects after the change. */
export const FALLS_BACK =
  "would fall back to the controller's own role and account, because no other selector matches";

/** The effect on resources whose annotation names a selector that no longer selects them. */
export const LOSES_CHOICE = `would have no role, because the annotation ${USE_SELECTOR_ANNOTATION} names this selector`;

/** The fix of `LOSES_CHOICE`. */
export const CHOICE_FIX = `first change the annotation ${USE_SELECTOR_ANNOTATION} of these resources or of their `
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
  requires: ["resources"],
  on: ["CREATE", "UPDATE", "DELETE"],
  ofChange: true,
  *scan({ effects }) {
    const hits = yield* effects.of("changes account");
    if (hits.found === 0) return [];
    const itemOf = (transition: Transition): string => {
      const move = accountMoveOf(transition, effects.controllerAccount);
      return `${resourceName(transition.resource)} from account ${move?.from} to account ${move?.to}`;
    };
    const effect = "would move to a different account, which controllers reject";
    return [{
      path: ["spec"],
      message: listHits(hits, { noun: "resource", effect, itemOf }),
      fix: IRS_19.fix + recreationHint(hits.first.map(({ resource }) => resource)),
    }];
  },
};

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
  requires: ["resources", "the stored object"],
  ofChange: true,
  *scan({ effects, spec }) {
    const faults: Fault[] = [];
    const hits = yield* effects.of("loses selector");
    if (hits.found > 0) {
      faults.push({
        path: ["spec"],
        message: listHits(hits, { noun: "resource", effect: FALLS_BACK }),
        fix: `keep selecting the resources with ${spec.name}, or first create a replacement: a selector for the `
          + `resources, with a role in the same account and the annotation ${REPLACES_ANNOTATION}: ${spec.name}. `
          + "Then apply this change again",
      });
    }
    const choices = yield* effects.of("loses choice");
    if (choices.found > 0) {
      const message = listHits(choices, { noun: "resource", effect: LOSES_CHOICE });
      faults.push({ path: ["spec"], message, fix: CHOICE_FIX });
    }
    return faults;
  },
};

export const IRS_21: ScanningCheck<SelectorChange> = {
  id: "IRS-21",
  severity: "warn",
  waivable: false,
  reason: "A different role may have different permissions. "
    + "Controllers use the new role only when they next reconcile a resource, up to 10 hours later.",
  fix: "make sure that the role has all permissions that these resources need",
  example: "# while Bucket team-a/b1 exists in account 111122223333\n"
    + "spec: {arn: 'arn:aws:iam::111122223333:role/b', namespaceSelector: {names: [team-a]}}",
  requires: ["resources"],
  ofChange: true,
  *scan({ effects }) {
    const hits = yield* effects.of("changes role", Infinity);
    if (hits.found === 0) return [];
    const effect = "would switch to a different role in the same account at the next resync";
    const message = listHits(hits, { noun: "existing resource", effect, itemOf: itemWithRole, limit: Infinity });
    return [{ path: ["spec"], message }];
  },
};

function itemWithRole({ resource, after }: Transition): string {
  return `${resourceName(resource)} to ${after.selectors.map(({ roleARN }) => roleARN).join()}`;
}
