import { firstNames } from "../kubernetes/text.ts";

/** The maximum number of selectors that the sentence names. */
const MAX_LISTED = 20;

/**
 * Returns the error message for a conflict in the words of the IAMRoleSelector proposal, so that users recognize the
 * message. The message names the 20 selectors that sort first.
 */
export function conflictSentence(names: Iterable<string>): string {
  const { first, number } = firstNames(names, MAX_LISTED);
  const more = number > first.length ? ` and ${number - first.length} more` : "";
  const list = `[${first.join(", ")}${more}]`;
  return `Cannot determine which IAMRoleSelector to use. Conflicting IAMRoleSelectors: ${list}`;
}
