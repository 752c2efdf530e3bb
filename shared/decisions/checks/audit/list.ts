import type { AuditCheck } from "./audit-check.ts";
import { AUD_08, AUD_09, AUD_10 } from "./definitions.ts";
import { AUD_11, AUD_12, AUD_13, AUD_14 } from "./identities.ts";
import { AUD_01, AUD_02, AUD_03, AUD_04, AUD_05, AUD_06, AUD_07 } from "./resolution.ts";

/** The checks that only `audit` runs. */
export const AUDIT_CHECKS: readonly AuditCheck[] = [
  AUD_01, AUD_02, AUD_03, AUD_04, AUD_05, AUD_06, AUD_07, AUD_08, AUD_09, AUD_10, AUD_11, AUD_12, AUD_13, AUD_14,
];
