import type { DecisionSettings } from "../settings.ts";
import type { CheckEntry, Need } from "./check.ts";
import type { JudgeInput } from "./judge.ts";

/** What a check would have to know and the input does not hold, or the settings do not say. */
export function unmetNeeds({ needs = [] }: CheckEntry, input: JudgeInput, settings: DecisionSettings): Need[] {
  return needs.filter((need) => !isMet(need, input, settings));
}

function isMet(need: Need, { inventory = null, requester, old }: JudgeInput, settings: DecisionSettings): boolean {
  switch (need) {
    case "the requester":
      return requester !== null;
    case "the stored object":
      return old !== null;
    case "namespaces":
    case "kinds":
    case "resources":
    case "config maps":
      return inventory?.knows(need) === true;
    default:
      return SAID[need]?.(settings) === true;
  }
}

/** By flag, whether the setting says anything. */
const SAID: Readonly<Record<string, (settings: DecisionSettings) => boolean>> = {
  "--controller-account": ({ controllerAccount }) => controllerAccount !== null,
  "--controller-role": ({ controllerRole }) => controllerRole !== null,
  "--allowed-accounts": ({ allowedAccounts }) => allowedAccounts.length > 0,
  "--controller-service-accounts": ({ controllerServiceAccounts }) => controllerServiceAccounts.length > 0,
  "--tenant-labels": ({ tenantLabels }) => tenantLabels.length > 0,
  "--allowed-endpoint-hosts": ({ allowedEndpointHosts }) => allowedEndpointHosts.length > 0,
  "--watch-namespace": ({ watchNamespaces }) => watchNamespaces.length > 0,
};
