import type { Check } from "./check.ts";
import { ACK_02 } from "./forged-annotations.ts";
import { ACK_12, ACK_17 } from "./resource-adoption.ts";
import { ACK_10, ACK_11, ACK_13, ACK_15, ACK_20 } from "./resource-annotations.ts";
import { ACK_36, type ResourceChange } from "./resource-change.ts";
import { ACK_30, ACK_31, ACK_32 } from "./resource-deletion.ts";
import { ACK_07, ACK_08, ACK_10B } from "./resource-drift.ts";
import { ACK_06 } from "./resource-role-change.ts";
import { ACK_03, ACK_05, ACK_05B, ACK_09 } from "./resource-selection.ts";

/** The checks that run when an ACK resource changes. */
export const RESOURCE_CHECKS: readonly Check<ResourceChange>[] = [
  ACK_02, ACK_03, ACK_05, ACK_05B, ACK_06, ACK_07, ACK_08, ACK_09, ACK_10, ACK_10B, ACK_11, ACK_12, ACK_13,
  ACK_15, ACK_17, ACK_20, ACK_30, ACK_31, ACK_32, ACK_36,
];
