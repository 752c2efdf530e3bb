import { isACKGroup, queryOf } from "./ack-resource.ts";
import { ACK_09 } from "./checks/resource-selection.ts";
import type { Inventory } from "./inventory.ts";
import type { JsonObject } from "./json.ts";
import { objectMeta } from "./object-meta.ts";
import { selectingSelectors } from "./resolve.ts";
import type { DecisionSettings } from "./settings.ts";

/** The checks that ask who may `use` a selector. Each is off unless it is set, since the answers cost a call to the API server. */
const ASKING: readonly { readonly id: string; readonly severity: string }[] = [ACK_09];

/** Whether access reviews are to be asked at all. */
export function asksAccess({ checkSeverities }: Pick<DecisionSettings, "checkSeverities">): boolean {
  return ASKING.some(({ id, severity }) => (checkSeverities.get(id) ?? severity) !== "off");
}

/** The selectors of which it matters whether the requester may use them, for an ACK resource that is to be so: the one that selects it. */
export function selectorsInQuestion(object: JsonObject, inventory: Inventory, { mode }: Pick<DecisionSettings, "mode">): readonly string[] {
  if (mode !== "selectors" || !isACKGroup(objectMeta(object).group)) return [];
  const selecting = selectingSelectors(inventory, queryOf(object, "default"));
  return selecting.length === 1 ? selecting.map(({ name }) => name) : [];
}
