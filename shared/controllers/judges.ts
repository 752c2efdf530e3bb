import { bindChecks } from "../core/bind.ts";
import type { Extra, Judge } from "../core/judge.ts";
import { POD } from "../injection/kinds.ts";
import { bindPod, isRequestingSidecar } from "../injection/pod-judge.ts";
import { AUD_15 } from "./controllers.ts";
import { WORKLOAD } from "./kinds.ts";
import { AUD_16 } from "./pod-profile.ts";

const WORKLOAD_CHECKS = [AUD_15, AUD_16];
const STORED_POD_CHECKS = [AUD_16];

/** A workload can create the Pods of a controller and of a sidecar. */
export const WORKLOAD_JUDGE: Judge = {
  kind: WORKLOAD, checks: WORKLOAD_CHECKS,
  bind: (input, settings) => [
    ...bindPod(input, settings), bindChecks(WORKLOAD_CHECKS, { object: input.object, settings }, null),
  ],
  isCheckedInFiles: isRequestingSidecar,
};

/** The check of the profile with which a sidecar runs. */
export const CONTROLLERS_OF_PODS: Extra = {
  of: POD, checks: STORED_POD_CHECKS,
  bind: ({ object }, settings) => [bindChecks(STORED_POD_CHECKS, { object, settings }, null)],
};
