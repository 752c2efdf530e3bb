import type { Inventory } from "../../shared/core/inventory.ts";
import type { UseNeeds } from "../../shared/core/review-needs.ts";
import type { JsonObject } from "../../shared/formats/json.ts";
import { SETTINGS_BY_DEFAULT } from "./objects.ts";

/** Returns the names under which the check of a change reads the requester's access. */
export function usedNames(
  of: UseNeeds["of"], [object, old]: readonly [object: JsonObject, old: JsonObject | null], inventory: Inventory,
  mode: "selectors" | "carm" = "selectors",
): readonly string[] {
  const input = { object, old, requester: null, origin: "cluster", inventory } as const;
  return of(input, { ...SETTINGS_BY_DEFAULT, mode }, inventory).map(([name]) => name);
}
