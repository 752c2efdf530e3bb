import { REPLACES_ANNOTATION, USE_SELECTOR_ANNOTATION } from "../contract/annotation-keys.ts";
import { accountMoveOf, recreationHint, resourceName, type Transition } from "../resolution/change-set.ts";
import type { FieldPath } from "../formats/json.ts";
import type { Paced } from "../formats/paced.ts";
import type { Fault, ScanningCheck } from "./check.ts";
import { listHits } from "./message-lists.ts";
import type { SelectorChange } from "./selector-change.ts";
import type { SelectorEffects } from "./selector-effects.ts";

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
      message: listHits(hits, effect, itemOf),
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
  *scan({ effects, spec: { name } }) {
    return yield* lossFaults(effects, ["spec"], `keep selecting the resources with ${name}, or first create a `
      + `replacement: a selector for the resources, with a role in the same account and the annotation `
      + `${REPLACES_ANNOTATION}: ${name}. Then apply this change again`);
  },
};

/** Returns the faults of a change after which the selector no longer selects resources. */
export function* lossFaults(effects: SelectorEffects, path: FieldPath, fix: string): Paced<Fault[]> {
  const faults: Fault[] = [];
  const hits = yield* effects.of("loses selector");
  if (hits.found > 0) faults.push({ path, message: listHits(hits, FALLS_BACK), fix });
  const choices = yield* effects.of("loses choice");
  if (choices.found > 0) faults.push({ path, message: listHits(choices, LOSES_CHOICE), fix: CHOICE_FIX });
  return faults;
}
