import type { QuickCheck } from "../check.ts";
import type { ClusterChange } from "./change.ts";
import { AC_01, AC_02, AC_03, AC_04 } from "./identity.ts";
import { AC_06, AC_07 } from "./neighbors.ts";
import { AC_00 } from "./reference.ts";
import { AC_05 } from "./use.ts";

/** The checks that run when an object that refers to a CAPA identity changes. */
export const CLUSTER_CHECKS: readonly QuickCheck<ClusterChange>[] = [
  AC_00, AC_01, AC_02, AC_03, AC_04, AC_05, AC_06, AC_07,
];
