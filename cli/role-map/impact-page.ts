import { decisionSettings } from "../../shared/core/context.ts";
import type { SettingsFor } from "../../shared/core/settings.ts";
import { roleMapOf } from "../../shared/diagnosis/role-map/build-map.ts";
import type { RoleMap } from "../../shared/diagnosis/role-map/role-map.ts";
import { drain } from "../../shared/formats/paced.ts";
import type { ImpactPage, StateAfter } from "../feature.ts";
import { auditWithProgress } from "../input/audited.ts";
import type { State } from "../input/state.ts";
import type { IO } from "../io.ts";
import { unjudgedTemplates } from "../output/coverage.ts";
import { mapInput } from "./map-input.ts";
import { writePage } from "./page-file.ts";

/** Returns the page of the states after a change, with the change. */
export function impactPage(settings: SettingsFor<"impact">, file: string): ImpactPage {
  const maps: RoleMap[] = [];
  return {
    title: "Role map before and after", file,
    add: (before, after, io) => void maps.push(mapAfter(before, after, settings, io)),
    write: (io) => writePage(maps, file, io),
  };
}

function mapAfter(before: State, after: StateAfter, settings: SettingsFor<"impact">, io: IO): RoleMap {
  const { inventory, impacts } = after;
  const objects = after.objects.map((object) => ({ object, file: null, lineOf: () => null }));
  const state = { root: before.root, origin: before.origin, objects, inventory };
  const decisions = decisionSettings(settings);
  const audit = auditWithProgress(state, objects, decisions, io);
  const unjudged = [...before.unjudged, ...unjudgedTemplates(state)];
  return drain(roleMapOf(mapInput({ ...state, audit, unjudged, impacts }, decisions)));
}
