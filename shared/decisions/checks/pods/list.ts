import type { Check } from "../check.ts";
import type { PodCreation } from "./change.ts";
import { POD_06, POD_07, POD_08 } from "./credentials.ts";
import { POD_01, POD_02, POD_03 } from "./request.ts";
import { POD_11 } from "./reserved.ts";
import { POD_04, POD_05, POD_09 } from "./sidecar.ts";

/** The checks that run when a Pod that requests a sidecar is created. */
export const POD_CHECKS: readonly Check<PodCreation>[] = [
  POD_01, POD_02, POD_03, POD_04, POD_05, POD_06, POD_07, POD_08, POD_09, POD_11,
];
