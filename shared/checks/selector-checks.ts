import type { Check } from "./check.ts";
import { IRS_04, IRS_05, IRS_40 } from "./selector-account.ts";
import type { SelectorChange } from "./selector-change.ts";
import { IRS_17, IRS_18 } from "./selector-conflicts.ts";
import { IRS_00_OF_CRD } from "./selector-crd.ts";
import { IRS_19, IRS_20 } from "./selector-moves.ts";
import { IRS_10, IRS_13, IRS_22, IRS_26 } from "./selector-reach.ts";
import { IRS_30, IRS_31 } from "./selector-removal.ts";
import { IRS_07, IRS_16 } from "./selector-stored.ts";
import { IRS_24, IRS_25, IRS_27 } from "./selector-trust.ts";

/** The checks that compare a change of an IAMRoleSelector with the stored selector, the inventory or the settings. */
export const SELECTOR_CHANGE_CHECKS: readonly Check<SelectorChange>[] = [
  IRS_00_OF_CRD,
  IRS_04,
  IRS_05,
  IRS_07,
  IRS_10,
  IRS_13,
  IRS_16,
  IRS_17,
  IRS_18,
  IRS_19,
  IRS_20,
  IRS_22,
  IRS_24,
  IRS_25,
  IRS_26,
  IRS_27,
  IRS_30,
  IRS_31,
  IRS_40,
];
