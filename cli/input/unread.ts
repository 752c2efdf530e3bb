import { OTHER_CARM_MAPS } from "../../shared/carm/map-store.ts";
import type { SkippedCheck } from "../../shared/core/run.ts";
import type { DecisionSettings } from "../../shared/core/context.ts";
import { WEBHOOK } from "../../shared/core/installation.ts";
import type { State } from "./state.ts";

/** Reports CM-07 as skipped if the CARM maps of other namespaces could not be read. */
export function unreadMaps({ inventory, origin }: State, { checkSeverities }: DecisionSettings): SkippedCheck[] {
  if (origin !== "cluster" || inventory.includes(OTHER_CARM_MAPS)) return [];
  if (checkSeverities.get("CM-07") === "off") return [];
  return [{ code: "CM-07", needs: "the right to list the CARM maps by name in all namespaces" }];
}

/** Reports AUD-16 as skipped if the Pods or the profile of the installation could not be read. */
export function unreadSidecars({ sidecars }: State, { checkSeverities }: DecisionSettings): SkippedCheck[] {
  if (sidecars?.isRead !== false || checkSeverities.get("AUD-16") === "off") return [];
  return [{ code: "AUD-16", needs: `the right to list Pods, and ConfigMaps of the name ${WEBHOOK.profile}` }];
}
