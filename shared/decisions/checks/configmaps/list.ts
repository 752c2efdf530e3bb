import type { Check } from "../check.ts";
import type { ConfigMapChange } from "./change.ts";
import { CM_01, CM_04, CM_12 } from "./entries.ts";
import { CM_07, CM_09, CM_15 } from "./place.ts";
import { CM_08 } from "./removal.ts";

/** The checks that run when a CARM ConfigMap changes. */
export const CONFIG_MAP_CHECKS: readonly Check<ConfigMapChange>[] = [CM_01, CM_04, CM_07, CM_08, CM_09, CM_12, CM_15];
