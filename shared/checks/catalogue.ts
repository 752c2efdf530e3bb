import type { CheckEntry } from "./check.ts";
import { CLUSTER_CHECKS } from "./cluster-neighbors.ts";
import { CONFIG_MAP_CHECKS } from "./carm-map-checks.ts";
import { ACK_34, DEFINITION_CHECKS, IRS_34 } from "./definitions.ts";
import { FIELD_EXPORT_CHECKS } from "./field-exports.ts";
import { IDENTITY_CHECKS } from "./identity-checks.ts";
import { CI_33 } from "./identity-shape.ts";
import { AC_08, ACK_35, CI_34, CM_14, FE_02, NS_14, POD_10 } from "./size-limits.ts";
import { META_01 } from "./any-kind.ts";
import { NAMESPACE_CHECKS } from "./namespace-checks.ts";
import { POD_CHECKS } from "./pod-checks.ts";
import { RESOURCE_CHECKS } from "./resource-checks.ts";
import { SELECTOR_CHANGE_CHECKS } from "./selector-checks.ts";
import { IRS_51 } from "./misspelled.ts";
import { SELECTOR_SELF_CHECKS } from "./self-checks.ts";
import { WAIVER_01 } from "./waiver.ts";
import { REMOVED_CODES } from "../contract/removed-codes.ts";
import { allClosest, listOf, quote } from "../formats/text.ts";

/** Every check. Checks of several kinds of objects, such as IRS-00, stand in more than one list. */
const ALL: readonly CheckEntry[] = [
  ...SELECTOR_SELF_CHECKS, ...SELECTOR_CHANGE_CHECKS, IRS_51, IRS_34, ...RESOURCE_CHECKS, ACK_34, ACK_35,
  ...NAMESPACE_CHECKS, NS_14, ...CONFIG_MAP_CHECKS, CM_14, ...FIELD_EXPORT_CHECKS, FE_02, ...POD_CHECKS, POD_10,
  ...IDENTITY_CHECKS, CI_33, CI_34, ...CLUSTER_CHECKS, AC_08, META_01, WAIVER_01, ...DEFINITION_CHECKS,
];

/** Every check once, in the order of docs/checks.md. */
export const CATALOGUE: readonly CheckEntry[] = ALL.filter(({ id }, i) => ALL.findIndex((one) => one.id === id) === i);

/** Every id that `--check` and the annotation `ack-role-resolver.io/allow` accept. */
export const CHECK_IDS: ReadonlySet<string> = new Set(
  CATALOGUE.flatMap(({ id, fixed = false }) => (fixed ? [] : [id])),
);

const ACCEPTED_IDS: ReadonlySet<string> = new Set([...CHECK_IDS, ...REMOVED_CODES.map(({ code }) => code)]);

/** Matches a value of --check whose check exists. */
export const CHECK_VALUE = `^(${[...ACCEPTED_IDS].join("|")})=(deny|warn|off)$`;

/**
 * Returns what is wrong with the check in a value of --check such as `IRS-03=warn`, or null. The text for an unknown id
 * lists the most similar ids.
 */
export function checkFault(value: string): string | null {
  const [id = ""] = value.split("=", 1);
  if (ACCEPTED_IDS.has(id)) return null;
  if (CATALOGUE.some((check) => check.id === id)) return `the severity of check ${id} is fixed`;
  const similar = allClosest(id, CHECK_IDS);
  const missing = `check ${quote(id)} does not exist`;
  if (similar.length === 0) return `${missing}; docs/checks.md lists the ids, such as IRS-03`;
  return `${missing}; similar ids: ${listOf(similar)}`;
}
