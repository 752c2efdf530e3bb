import type { Check } from "../check.ts";
import { CI_02, CI_03, CI_04, CI_05, CI_06, CI_08 } from "./allowed.ts";
import type { IdentityChange } from "./change.ts";
import { CI_01, CI_11 } from "./immutable.ts";
import { CI_20, CI_21, CI_22, CI_23, CI_24, CI_29, CI_35 } from "./role.ts";
import { CI_10 } from "./secret.ts";
import { CI_00, CI_09 } from "./shape.ts";
import { CI_25, CI_26, CI_27, CI_28 } from "./source.ts";
import { CI_07, CI_30, CI_31 } from "./use.ts";

/** The checks that run when a CAPA identity changes. */
export const IDENTITY_CHECKS: readonly Check<IdentityChange>[] = [
  CI_00, CI_01, CI_02, CI_03, CI_04, CI_05, CI_06, CI_07, CI_08, CI_09, CI_10, CI_11,
  CI_20, CI_21, CI_22, CI_23, CI_24, CI_25, CI_26, CI_27, CI_28, CI_29, CI_30, CI_31, CI_35,
];
