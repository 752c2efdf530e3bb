import type { DecisionSettings } from "../context.ts";
import type { Inventory } from "../inventory/inventory.ts";
import { queryOf } from "../kubernetes/ack-resource.ts";
import type { JsonObject } from "../kubernetes/json.ts";
import { isACKGroup } from "../kubernetes/kinds.ts";
import { objectMeta } from "../kubernetes/object-meta.ts";
import { selectingSelectors } from "../resolution/resolve.ts";
import type { CheckEntry } from "./check.ts";
import { stateOf } from "./namespaces/change.ts";
import { NS_02, selectorsGained } from "./namespaces/labels.ts";
import { ACK_09 } from "./resources/selection.ts";

/** The checks that ask who may `use` a selector. Each is off unless it is set, since the answers cost a call to the API server. */
const ASKING: readonly CheckEntry[] = [ACK_09, NS_02];

/** Whether access reviews are to be asked at all. */
export function asksAccess(settings: Pick<DecisionSettings, "checkSeverities">): boolean {
  return ASKING.some((check) => isCheckEnabled(check, settings));
}

/** Whether they are to be asked for this check. */
export function isCheckEnabled({ id, severity }: CheckEntry, { checkSeverities }: Pick<DecisionSettings, "checkSeverities">): boolean {
  return (checkSeverities.get(id) ?? severity) !== "off";
}

/** The selectors of which it matters whether the requester may use them, for an ACK resource that is to be so: the one that selects it. */
export function selectorsInQuestion(object: JsonObject, inventory: Inventory, { mode }: Pick<DecisionSettings, "mode">): readonly string[] {
  if (mode !== "selectors" || !isACKGroup(objectMeta(object).group)) return [];
  const selecting = selectingSelectors(inventory, queryOf(object, "default"));
  return selecting.length === 1 ? selecting.map(({ name }) => name) : [];
}

/** The same for a Namespace: those that come to select something in it. */
export function selectorsGainedBy(object: JsonObject, old: JsonObject | null, inventory: Inventory, { mode }: Pick<DecisionSettings, "mode">): readonly string[] {
  if (mode !== "selectors") return [];
  return selectorsGained({ inventory, name: objectMeta(object).name, state: stateOf(object), stored: old === null ? null : stateOf(old) });
}
