import type { Change } from "../../shared/diagnosis/impact.ts";
import type { State } from "../../shared/diagnosis/role-map/role-map.ts";

/** What a state is called, and what it means. */
export const STATE_WORDS: Readonly<Record<State, readonly [word: string, meaning: string]>> = {
  conflict: ["conflict", "Several selectors select the resource, so controllers do not reconcile it."],
  refused: [
    "no usable role", "The resource or its namespace names a selector, CARM key or identity that cannot be used, so "
      + "controllers do not reconcile it.",
  ],
  malformed: ["malformed selector", "Controllers ignore the selector."],
  faulty: ["faulty", "The webhook would deny the object, or the selector that selects it, as it is."],
  stale: ["stale annotations", "The annotations of the resource report another role than the one that applies."],
  default: ["controller's own role", "No selector selects the resource, so the controller uses its own role."],
  unjudged: ["not judged", "The object was not read, so its role is unknown."],
  resolved: ["resolved", "One role applies."],
};

/** What the list of a state contains: a noun, and what is wrong. */
export const HEADLINES: Readonly<Record<State | "other", readonly [noun: string, rest: string]>> = {
  conflict: ["resource", "in conflict"],
  refused: ["resource", "without a usable role"],
  malformed: ["malformed selector", ""],
  faulty: ["faulty object", ""],
  stale: ["resource", "with stale annotations"],
  default: ["resource", "with the controller's own role"],
  unjudged: ["object", "not judged"],
  resolved: ["selector", "found"],
  other: ["other object", "with findings"],
};

/** What a change is called. */
export const CHANGE_WORDS: Readonly<Record<Change, string>> = {
  conflict: "New conflict", refused: "No role any more", default: "Falls back to the controller's own role",
  account: "Other account", role: "Other role", region: "Other region", selected: "Newly selected",
  wider: "Sessions may do more", narrower: "Sessions may do less",
  identity: "Other identity", source: "Other source of the identity", secret: "Other Secret of the identity",
  selector: "Other selector, same role", added: "Added", removed: "Removed",
};

/** Returns the number with its noun, such as `1 namespace` or `1,200 namespaces`. */
export function counted(number: number, noun: string): string {
  return `${number.toLocaleString("en")} ${plural(number, noun)}`;
}

export function plural(number: number, noun: string): string {
  return number === 1 ? noun : `${noun}s`;
}

/** Returns the kind without its group. */
export function shortKind(kind: string): string {
  return kind.split(".", 1)[0] ?? kind;
}

/** Returns the name of the role, which is unique in its account, without its path. */
export function roleName(arn: string): string {
  return arn.slice(arn.lastIndexOf("/") + 1);
}
