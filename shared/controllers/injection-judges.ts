import { bindChecks } from "../core/bind.ts";
import type { Extra } from "../core/judge.ts";
import { POD } from "../injection/kinds.ts";
import { bindPod, isRequestingSidecar, POD_JUDGE } from "../injection/pod-judge.ts";
import { WORKLOAD } from "./kinds.ts";
import { AUD_16 } from "./pod-profile.ts";
import { AUD_17 } from "./pod-scope.ts";

const STORED_POD_CHECKS = [AUD_16, AUD_17];

/** The checks of what the sidecar of a Pod can issue. */
export const CONTROLLERS_OF_PODS: Extra = {
  of: POD, checks: STORED_POD_CHECKS,
  bind: ({ object }, settings) => [bindChecks(STORED_POD_CHECKS, { object, settings }, null)],
};

/** The checks of the Pods that a workload creates. */
export const PODS_OF_WORKLOADS: Extra = {
  of: WORKLOAD, checks: POD_JUDGE.checks, bind: bindPod, isCheckedInFiles: isRequestingSidecar,
};
