import type { Check, CheckEntry, SelectorChange } from "./check.ts";
import { SELECTOR_CHECKS } from "./selector-checks.ts";

/** The checks of a step of an IAMRoleSelector against all that is known. */
export const SELECTOR_CHANGE_CHECKS: readonly Check<SelectorChange>[] = [];

/** All of them, in the order of the documents. */
export const CATALOGUE: readonly CheckEntry[] = [...SELECTOR_CHECKS, ...SELECTOR_CHANGE_CHECKS];

/** Every id that `--check` and the waiver annotation may name. */
export const CHECK_IDS: ReadonlySet<string> = new Set(CATALOGUE.map((check) => check.id));
