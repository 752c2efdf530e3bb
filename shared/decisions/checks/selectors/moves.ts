import { REPLACES_ANNOTATION } from "../../annotation-keys.ts";
import { accountBy, accountOf, resourceName, type Transition } from "../../resolution/change-set.ts";
import type { ScanningCheck } from "../check.ts";
import { describe } from "../message-lists.ts";
import type { SelectorChange } from "./change.ts";

export const IRS_19: ScanningCheck<SelectorChange> = {
  id: "IRS-19",
  severity: "deny",
  waivable: true,
  reason: "Controllers refuse a resource that exists in another account than its role's for ever, without a condition, and its finalizer stays.",
  fix: "leave what exists in its account: restrict the selector, or give it a role of that account. What is to move is deleted first and created again after",
  example: "spec: {arn: 'arn:aws:iam::444455556666:role/b', namespaceSelector: {names: [team-a]}} # and team-a/b1 exists in 111122223333",
  requires: ["resources"],
  on: ["CREATE", "UPDATE", "DELETE"],
  ofChange: true,
  *scan({ effects }) {
    const hits = yield* effects.of("changes account");
    if (hits.found === 0) return [];
    const place = (transition: Transition): string => (
      `${resourceName(transition.resource)} from account ${String(accountOf(transition, effects.controllerAccount))} to ${String(accountBy(transition.after))}`
    );
    return [{ path: ["spec"], message: describe(hits, { noun: "existing resource", what: "would have to change accounts, which controllers refuse", place }) }];
  },
};

export const IRS_20: ScanningCheck<SelectorChange> = {
  id: "IRS-20",
  severity: "deny",
  waivable: true,
  reason: "A resource that no selector selects any more is created again, or deleted, with the controller's own role in the controller's own account.",
  fix: `let the selector go on selecting them, or first create the one that is to take them over, with the annotation ${REPLACES_ANNOTATION}: NAME of this one`,
  example: "spec: {namespaceSelector: {names: [team-b]}} # before: names: [team-a, team-b], and team-a/b1 is there",
  requires: ["resources", "the stored object"],
  ofChange: true,
  *scan({ effects, spec }) {
    const hits = yield* effects.of("loses selector");
    if (hits.found === 0) return [];
    return [{
      path: ["spec"],
      message: describe(hits, { noun: "resource", what: FALL_BACK }),
      fix: `let ${spec.name} go on selecting them, or first create the selector that is to take them over, with a role of the same account `
        + `and the annotation ${REPLACES_ANNOTATION}: ${spec.name}, and then apply this again`,
    }];
  },
};

export const IRS_21: ScanningCheck<SelectorChange> = {
  id: "IRS-21",
  severity: "warn",
  waivable: false,
  reason: "Another role has other permissions, and controllers take it up only when they next look at a resource, 10 hours later at the latest.",
  fix: "see that the role may do all that these resources need",
  example: "spec: {arn: 'arn:aws:iam::111122223333:role/b', namespaceSelector: {names: [team-a]}} # and the controller has made team-a/b1 in 111122223333",
  requires: ["resources"],
  ofChange: true,
  *scan({ effects }) {
    const hits = yield* effects.of("changes role", Infinity);
    if (hits.found === 0) return [];
    const what = "would go to another role of the same account at the next resync";
    return [{ path: ["spec"], message: describe(hits, { noun: "existing resource", what, place: newRole, enough: Infinity }) }];
  },
};

function newRole({ resource, after }: Transition): string {
  return `${resourceName(resource)} to ${after.map(({ roleARN }) => roleARN).join()}`;
}

/** What happens to those that lose their selector. */
export const FALL_BACK = "would fall to the controller's own role and account, since nothing else selects them";
