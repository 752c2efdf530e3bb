import type { SelectorCheck } from "./check.ts";
import { IRS_15, IRS_15B } from "./selector-breadth.ts";
import { IRS_08, IRS_09, IRS_11, IRS_35 } from "./selector-matches.ts";
import { IRS_48 } from "./selector-limits.ts";
import { IRS_01, IRS_02, IRS_03 } from "./selector-role.ts";
import { IRS_41, IRS_42, IRS_43, IRS_44, IRS_45, IRS_46, IRS_47 } from "./selector-session.ts";
import { IRS_00 } from "./selector-shape.ts";
import { IRS_12, IRS_13B } from "./selector-types.ts";

/**
 * The checks that need only the IAMRoleSelector itself. `decodeSelector` runs these checks. This list is separate from
 * the list of the change checks to avoid an import cycle: the change checks import the inventory, and the inventory
 * imports `decodeSelector`.
 */
export const SELECTOR_SELF_CHECKS: readonly SelectorCheck[] = [
  IRS_00,
  IRS_01,
  IRS_02,
  IRS_03,
  IRS_08,
  IRS_09,
  IRS_11,
  IRS_12,
  IRS_13B,
  IRS_15,
  IRS_15B,
  IRS_35,
  IRS_41,
  IRS_42,
  IRS_43,
  IRS_44,
  IRS_45,
  IRS_46,
  IRS_47,
  IRS_48,
];
