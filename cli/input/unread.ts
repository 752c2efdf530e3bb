import type { SkippedCheck } from "../../shared/core/run.ts";
import type { DecisionSettings } from "../../shared/core/context.ts";
import { WEBHOOK } from "../../shared/core/installation.ts";
import type { State } from "./state.ts";

/** Reports AUD-16 as skipped if the Pods or the profile of the installation could not be read. */
export function unreadSidecars({ sidecars }: State, { checkSeverities }: DecisionSettings): SkippedCheck[] {
  if (sidecars?.isRead !== false || checkSeverities.get("AUD-16") === "off") return [];
  return [{ code: "AUD-16", needs: `the right to list Pods, and ConfigMaps of the name ${WEBHOOK.profile}` }];
}
