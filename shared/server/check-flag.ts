import { CATALOGUE, CHECK_IDS } from "../checks/catalogue.ts";
import { REMOVED_CODES } from "../contract/removed-codes.ts";
import { allClosest, listOf, quote } from "../formats/text.ts";
import type { Pattern } from "../contract/setting-definition.ts";

const ACCEPTED_IDS: ReadonlySet<string> = new Set([...CHECK_IDS, ...REMOVED_CODES.map(({ code }) => code)]);

/**
 * The pattern of a --check value. The settings table does not define this pattern, because the table must not depend on
 * the check catalogue.
 */
export const CHECK_SEVERITY: Pattern = {
  regexp: `^(${[...ACCEPTED_IDS].join("|")})=(deny|warn|off)$`,
  meaning: "ID=deny, ID=warn or ID=off",
};

const FIXED_IDS: ReadonlySet<string> = new Set(CATALOGUE.flatMap(({ id, fixed = false }) => (fixed ? [id] : [])));

/** Returns what is wrong with a value of --check. If the check ID is unknown, the text lists the most similar IDs. */
export function checkFault(value: string): string {
  const [id = "", severity] = value.split("=", 2);
  if (severity === undefined || id === "" || ACCEPTED_IDS.has(id)) return `expected ${CHECK_SEVERITY.meaning}`;
  if (FIXED_IDS.has(id)) return `the severity of check ${id} is fixed`;
  const similar = allClosest(id, CHECK_IDS);
  const missing = `check ${quote(id)} does not exist`;
  if (similar.length === 0) return `${missing}; docs/checks.md lists the ids, such as IRS-03`;
  return `${missing}; similar ids: ${listOf(similar)}`;
}
