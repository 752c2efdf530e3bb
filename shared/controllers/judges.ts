import { bindChecks } from "../core/bind.ts";
import type { Judge } from "../core/judge.ts";
import { AUD_15 } from "./controllers.ts";
import { WORKLOAD } from "./kinds.ts";
import { AUD_16 } from "./pod-profile.ts";
import { AUD_17 } from "./pod-scope.ts";

const WORKLOAD_CHECKS = [AUD_15, AUD_16, AUD_17];

/** A workload can create the Pods of a controller and of a sidecar. Only `audit` checks it. */
export const WORKLOAD_JUDGE: Judge = {
  kind: WORKLOAD, checks: WORKLOAD_CHECKS,
  bind: ({ object }, settings) => [bindChecks(WORKLOAD_CHECKS, { object, settings }, null)],
  isCheckedInFiles: () => false,
};
