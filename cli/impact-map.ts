import { decisionSettings } from "../shared/core/context.ts";
import type { SettingsFor } from "../shared/core/settings.ts";
import type { Inventory } from "../shared/core/inventory.ts";
import type { JsonObject } from "../shared/formats/json.ts";
import { drain } from "../shared/formats/paced.ts";
import type { Impact } from "../shared/diagnosis/impact.ts";
import { roleMapOf } from "../shared/diagnosis/role-map/build-map.ts";
import type { RoleMap } from "../shared/diagnosis/role-map/role-map.ts";
import { auditWithProgress } from "./audit.ts";
import { mapInput } from "./input/map-input.ts";
import type { State } from "./input/state.ts";
import type { IO } from "./io.ts";
import { unjudgedTemplates } from "./output/coverage.ts";

/** The state after a change. */
interface StateAfter {
  readonly objects: readonly JsonObject[];
  readonly inventory: Inventory;
  readonly impacts: readonly Impact[];
}

/** Returns the map of the state after a change, with the change. */
export function mapAfter(before: State, after: StateAfter, settings: SettingsFor<"impact">, io: IO): RoleMap {
  const { inventory, impacts } = after;
  const objects = after.objects.map((object) => ({ object, file: null, lineOf: () => null }));
  const state = { root: before.root, origin: before.origin, objects, inventory };
  const decisions = decisionSettings(settings);
  const audit = auditWithProgress(state, objects, decisions, io);
  const unjudged = [...before.unjudged, ...unjudgedTemplates(state)];
  return drain(roleMapOf(mapInput({ ...state, audit, unjudged, impacts }, decisions)));
}
