import { RESOURCES_BETWEEN_PAUSES } from "../ack/change-set.ts";
import { RESOURCES } from "../ack/resources.ts";
import type { ACKResource } from "../core/ack-resource.ts";
import { IGNORED_NAMESPACES, OWNER_ACCOUNT_ANNOTATION } from "../core/annotation-keys.ts";
import type { Fault, ScanningCheck } from "../core/check.ts";
import type { DecisionSettings } from "../core/context.ts";
import { AffectedResources } from "../core/fault-texts.ts";
import type { Inventory } from "../core/inventory.ts";
import type { NamespaceChange, NamespaceState } from "../core/namespace-change.ts";
import { annotationPath } from "../formats/json.ts";
import { type Paced, paced } from "../formats/paced.ts";
import { type Repair, repairsOf } from "../core/repair.ts";
import { namedBy, oldChoices } from "./annotation-repairs.ts";
import { entriesOf, idOfEntry, isNamedFor } from "./carm-entries.ts";
import { carmAnnotations, lookUpMaps, teamOf } from "./carm-maps.ts";
import { mapRoleOf, NO_STATUS } from "./carm-role.ts";
import { NS_04 } from "./namespace-owner.ts";
import { NAMESPACE_OWNERS } from "./namespace-owners.ts";

/**
 * NS-04 for the resources of other namespaces whose account only their status names. The sidecar grants the role of
 * such an account as long as some namespace names it.
 */
export const NS_04_OF_OTHERS: ScanningCheck<NamespaceChange> = {
  ...NS_04,
  fix: "first annotate the namespaces of these resources with their account",
  on: ["UPDATE", "DELETE"],
  *scan(change): Paced<readonly Fault[]> {
    const { inventory, name, operation, settings, state, stored } = change;
    const account = stored !== null && accountIn(name, stored, settings);
    const isKept = operation !== "DELETE" && accountIn(name, state, settings) === account;
    const options = { withoutTeam: settings.teamLevelCARM };
    if (account === false || account === null || isKept) return [];
    if (inventory.of(NAMESPACE_OWNERS).hasAccountBesides(name, account, options)) return [];
    const affected = new AffectedResources();
    const namespaces = new Set<string>();
    const effect = {
      messageFor: (count: string) => `no other namespace names account ${account}, so the sidecar no longer grants the `
        + `role of ${count} whose namespace names none`,
    };
    // Copies the resources, because the inventory may change during a pause.
    yield* paced([...inventory.of(RESOURCES).all()], RESOURCES_BETWEEN_PAUSES, (resource) => {
      const isOther = resource.namespace !== name && resource.status.ownerAccountID === account;
      if (!isOther || !losesRole(inventory, resource, account, settings)) return true;
      affected.add(resource, effect);
      namespaces.add(resource.namespace);
      return !affected.isFull;
    });
    const repairs = repairsFor({ ...change, stored }, namespaces, account);
    return affected.faults(annotationPath(OWNER_ACCOUNT_ANNOTATION))
      .map((fault) => ({ ...fault, fix: NS_04_OF_OTHERS.fix, ...repairsOf(repairs) }));
  },
};

/** Returns the repairs that keep a namespace that names the account. CARM does not read the annotations of all. */
function repairsFor(
  change: NamespaceChange & { readonly stored: NamespaceState }, others: ReadonlySet<string>, account: string,
): readonly Repair[] {
  const isRead = ![...others].some((name) => IGNORED_NAMESPACES.has(name));
  const named = isRead ? [{ when: "to name the account elsewhere", edits: namedBy(others, account) }] : [];
  if (change.operation === "DELETE") return named;
  return [{ when: "to keep the account", edits: oldChoices(change, change.stored) }, ...named];
}

/** Returns the account that the annotations of the namespace name; null if they name none, or a team instead. */
function accountIn(name: string, { annotations }: NamespaceState, settings: DecisionSettings): string | null {
  const read = carmAnnotations(name, annotations);
  const account = read.get(OWNER_ACCOUNT_ANNOTATION) ?? "";
  return account === "" || (settings.teamLevelCARM && teamOf(read, settings) !== "") ? null : account;
}

/** Whether the resource has its role by its status, and no namespace names another account or team with this role. */
function losesRole(
  inventory: Inventory, resource: ACKResource, account: string, settings: DecisionSettings,
): boolean {
  if (lookUpMaps(inventory, { ...resource, status: NO_STATUS }, settings) !== null) return false;
  const roleARN = mapRoleOf(inventory, resource, settings)?.roleARN ?? null;
  if (roleARN === null) return false;
  return ![...entriesOf(inventory, roleARN, settings)].some((entry) => (
    idOfEntry(resource.group, entry, settings) !== account
      && isNamedFor(resource.group, entry, inventory, settings) === true
  ));
}
