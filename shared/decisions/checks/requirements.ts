import type { DecisionSettings } from "../context.ts";
import { objectMeta } from "../kubernetes/object-meta.ts";
import type { CheckInput } from "./change.ts";
import type { CheckEntry, Requirement } from "./check.ts";

/** What a check would have to know and the input does not hold, or the settings do not say. */
export function unmetRequirements({ requires: needs = [] }: CheckEntry, input: CheckInput, settings: DecisionSettings): Requirement[] {
  return needs.filter((need) => !isMet(need, input, settings));
}

function isMet(need: Requirement, input: CheckInput, settings: DecisionSettings): boolean {
  return TOLD[need]?.(input, settings) ?? SAID[need]?.(settings) === true;
}

/** Of what the input may hold, whether it does. */
const TOLD: Readonly<Record<string, (input: CheckInput, settings: DecisionSettings) => boolean>> = {
  "the requester": ({ requester }) => requester !== null,
  "the stored object": ({ old }) => old !== null,
  "access reviews": ({ access = null }) => access !== null,
  "selectors and namespaces": tellsRoles,
  "namespaces": ({ inventory }) => inventory?.knows("namespaces") === true,
  "kinds": ({ inventory }) => inventory?.knows("kinds") === true,
  "resources": ({ inventory }) => inventory?.knows("resources") === true,
  "config maps": ({ inventory }) => inventory?.knows("config maps") === true,
};

/**
 * Whether what decides the role of a resource is known. What manifests leave out may be in the cluster that they are for, and of a
 * cluster the watch may be behind by a new namespace.
 */
function tellsRoles({ inventory = null, object, origin }: CheckInput, { mode }: DecisionSettings): boolean {
  if (inventory === null) return false;
  const namespaceDecides = mode === "carm" || inventory.readsNamespaceLabels;
  if (origin === "cluster") return !namespaceDecides || inventory.hasNamespace(objectMeta(object).namespace);
  const holdsMap = mode === "carm" ? inventory.knows("config maps") : inventory.selectors.size + inventory.malformed.size > 0;
  return holdsMap && (!namespaceDecides || inventory.knows("namespaces"));
}

/** By flag, whether the setting says anything. */
const SAID: Readonly<Record<string, (settings: DecisionSettings) => boolean>> = {
  "--controller-account or --controller-role": ({ controllerAccount, controllerRole }) => controllerAccount !== null || controllerRole !== null,
  "--allowed-accounts or --controller-role": ({ allowedAccounts, controllerRole }) => allowedAccounts.length > 0 || controllerRole !== null,
  "--allowed-accounts": ({ allowedAccounts }) => allowedAccounts.length > 0,
  "--controller-service-accounts": ({ controllerServiceAccounts }) => controllerServiceAccounts.length > 0,
  "--tenant-labels": ({ tenantLabels }) => tenantLabels.length > 0,
  "--allowed-endpoint-hosts": ({ allowedEndpointHosts }) => allowedEndpointHosts.length > 0,
  "--watch-namespace": ({ watchNamespaces }) => watchNamespaces.length > 0,
  "--watch-selectors": ({ watchSelector }) => watchSelector !== null,
};
