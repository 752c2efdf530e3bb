import { decisionSettings } from "../../shared/core/context.ts";
import type { SettingsFor } from "../../shared/core/settings.ts";
import { countOf } from "../../shared/formats/text.ts";
import { roleMapOf } from "../../shared/diagnosis/role-map/build-map.ts";
import type { RoleMap } from "../../shared/diagnosis/role-map/role-map.ts";
import { auditWithProgress } from "../input/audited.ts";
import { mapInput } from "./map-input.ts";
import { CHECK_FIELDS, Only } from "../input/only.ts";
import { isUnreadable } from "../input/input-faults.ts";
import { readStates, type State } from "../input/state.ts";
import { EXIT, type ExitStatus, type IO, withoutNotes, writeLines, writeText } from "../io.ts";
import { unionOf } from "../output/by-root.ts";
import { coverageWithoutTemplates, isIncomplete, unjudgedTemplates, writeNotJudged } from "../output/coverage.ts";
import { isFailing } from "../output/located-finding.ts";
import { mapSummary, writePage } from "./page-file.ts";
import { runWithProgress } from "../output/progress.ts";

/** Writes the page of the roles. If any input is unreadable, writes no page and prints the faults of the input. */
export async function runMap(settings: SettingsFor<"map">, io: IO): Promise<ExitStatus> {
  const only = new Only(settings, CHECK_FIELDS);
  const states = await readStates(settings, io, { stdinCommand: "map -", inAllNamespaces: true });
  const [{ faults, unjudged }] = states;
  if (isUnreadable(faults, settings, io)) return EXIT.usage;
  writeText(withoutNotes(io, settings).stderr, only.noObjectLines(states), io);
  const results = states.map((state) => mapOf(state, only, settings, io));
  const maps = results.map(({ map }) => map);
  await writePage(maps, settings.html ?? "", io);
  writeLines(settings.html === "-" ? io.stderr : io.stdout, maps.map((map) => mapSummary(map, settings.html ?? "")));
  const covered = coverageWithoutTemplates(unionOf(states), unjudged);
  writeNotJudged(covered, settings, io);
  return results.some(({ isFailed }) => isFailed) || isIncomplete(covered, settings.failOn)
    ? EXIT.findings
    : EXIT.fine;
}

interface RootMap {
  readonly map: RoleMap;
  readonly isFailed: boolean;
}

function mapOf(state: State, only: Only, settings: SettingsFor<"map">, io: IO): RootMap {
  const objects = only.objectsOf(state);
  const decisions = decisionSettings(settings);
  const audit = auditWithProgress(state, objects, decisions, io);
  const unjudged = [...state.unjudged, ...unjudgedTemplates(state)];
  const input = mapInput({ ...state, objects, audit, unjudged, impacts: null }, decisions);
  const map = runWithProgress(roleMapOf(input), io, (mapped) => `${countOf(mapped, "resource")} mapped`);
  return { map, isFailed: isFailing(audit.findings, settings.failOn) };
}
