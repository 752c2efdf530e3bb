import { SELECTOR_REQUIRED_ANNOTATION } from "../../annotation-keys.ts";
import { annotationPath } from "../../kubernetes/field-path.ts";
import { quote } from "../../kubernetes/text.ts";
import { mayWaive } from "../any-kind/waiver.ts";
import type { Fault, QuickCheck } from "../check.ts";
import type { NamespaceChange } from "./change.ts";

/** The only value of the annotation that requires a selector. */
export const REQUIRED = "true";

/** Returns whether the annotations of a namespace require a selector for each of its resources. */
export function isSelectorRequired(annotations: ReadonlyMap<string, string>): boolean {
  return annotations.get(SELECTOR_REQUIRED_ANNOTATION) === REQUIRED;
}

export const NS_17: QuickCheck<NamespaceChange> = {
  id: "NS-17",
  severity: "deny",
  waivable: false,
  reason: "Without this check, any user who can write a namespace could remove "
    + `\`${SELECTOR_REQUIRED_ANNOTATION}\` and use the controllers' own role. Every user may set it to \`"true"\`. `
    + "Only a waiver user may remove that value, or write another value, which has no effect.",
  fix: `set ${SELECTOR_REQUIRED_ANNOTATION} to "true", or ask a user in --waiver-users or in a group in `
    + "--waiver-groups to change it",
  example: `kubectl annotate namespace team-a ${SELECTOR_REQUIRED_ANNOTATION}- # by a user who is not a waiver user`,
  requires: ["the requester"],
  ofChange: true, // the webhook does not know who wrote the stored object
  *find({ requester, settings, state, stored }): Iterable<Fault> {
    if (requester === null || mayWaive(requester, settings)) return;
    const before = stored?.annotations.get(SELECTOR_REQUIRED_ANNOTATION);
    const after = state.annotations.get(SELECTOR_REQUIRED_ANNOTATION);
    if (after === before || after === REQUIRED || (after === undefined && before !== REQUIRED)) return;
    const change = after === undefined ? "remove the annotation" : `set it to ${quote(after)}`;
    const message = `the requester ${quote(requester.username)} is not a waiver user and may not ${change}`;
    yield { path: annotationPath(SELECTOR_REQUIRED_ANNOTATION), message };
  },
};
