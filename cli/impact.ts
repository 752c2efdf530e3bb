import { runChecks } from "../shared/decisions/checks/run.ts";
import { decisionSettings } from "../shared/decisions/context.ts";
import { ResolverError } from "../shared/decisions/errors.ts";
import type { JsonObject } from "../shared/decisions/kubernetes/json.ts";
import { objectReference } from "../shared/decisions/kubernetes/object-meta.ts";
import { countOf } from "../shared/decisions/kubernetes/text.ts";
import {
  type Change, CHANGES, compareInventories, countsOf, DISRUPTIVE, type ImpactComparison, isDisruptive,
} from "../shared/decisions/resolution/impact.ts";
import type { SettingsFor } from "../shared/decisions/settings.ts";
import { STDIN } from "../shared/inventory/manifests/listing.ts";
import { objectKey } from "../shared/inventory/manifests/object-key.ts";
import { type ProposedState, stateAfterApply, stateAfterDelete } from "../shared/inventory/manifests/proposed-state.ts";
import type { Manifest } from "../shared/inventory/manifests/reader.ts";
import { sumOfCounts } from "../shared/inventory/manifests/skip.ts";
import { readInput } from "./input/input.ts";
import { EXIT, type ExitStatus, type IO, writeLines } from "./io.ts";
import { changedValue, wideCell } from "./output/impact-cells.ts";
import { findingLines, locate, type LocatedFinding } from "./output/located-finding.ts";
import { mapWithProgress, runWithProgress } from "./output/progress.ts";
import { type TableFormat, tableFormat } from "./output/resolution-table.ts";
import { resourceName } from "./resolve.ts";
import { inventoryOf, isUnreadable, readState, type State } from "./input/state.ts";
import { formatTable, type Paint, painter } from "./output/terminal.ts";

type Settings = SettingsFor<"impact">;

/** Prints the impact of applying or deleting the manifests. If any input is unreadable, prints only the faults. */
export async function runImpact(paths: readonly string[], settings: Settings, io: IO): Promise<ExitStatus> {
  checkPaths(paths, settings);
  const change = await readInput(paths, settings, io, "impact - --from STATE");
  const { manifests } = change;
  if (isUnreadable(change.faults, io)) return EXIT.usage;
  const state = await readState(settings, io, { stdinCommand: "impact --from - CHANGE" });
  if (isUnreadable(state.faults, io)) return EXIT.usage;
  const proposed = propose(state, manifests.map(({ object }) => object), settings.delete);
  const after = inventoryOf(proposed.objects, { runtime: settings.runtime, origin: state.origin });
  const work = compareInventories(state.inventory, after, decisionSettings(settings));
  const comparison = runWithProgress(work, io, (compared) => `${countOf(compared, "resource")} compared`);
  const findings = checkManifests(manifests, state, settings, io);
  const denials = findings.filter(({ severity }) => severity === "deny");
  const paint = painter(io.stdout, io.environment);
  if (settings.output === "json") {
    const skippedFiles = sumOfCounts(change.skippedFiles, state.skippedFiles);
    io.stdout.write(`${JSON.stringify({ ...comparisonJSON(comparison), findings, skippedFiles }, null, 2)}\n`);
  } else {
    const lines = comparisonLines(comparison, tableFormat(settings.output, io), paint);
    writeLines(io.stdout, [...lines, ...denialLines(denials, paint)]);
  }
  writeLines(io.stderr, proposed.absent.map(absentWarning));
  return denials.length > 0 || comparison.impacts.some(isDisruptive) ? EXIT.findings : EXIT.fine;
}

function checkPaths(paths: readonly string[], { from, delete: isDelete }: Settings): void {
  if (paths.length === 0) {
    const message = `no manifests to ${isDelete ? "delete" : "apply"}: pass files or folders, or - for standard input`;
    throw new ResolverError("ERR_CONFIG_INVALID", message);
  }
  if (paths.includes(STDIN) && from.includes(STDIN)) {
    const message = "--from -: the manifests are already read from standard input; pass a file or folder to --from";
    throw new ResolverError("ERR_CONFIG_INVALID", message);
  }
}

function propose({ objects, origin }: State, manifests: readonly JsonObject[], isDelete: boolean): ProposedState {
  const stored = objects.map(({ object }) => object);
  return isDelete ? stateAfterDelete(stored, manifests) : stateAfterApply(stored, manifests, origin);
}

/** Returns the findings that the webhook would report if each manifest were applied or deleted alone. */
function checkManifests(
  manifests: readonly Manifest[], { objects, inventory }: State, settings: Settings, io: IO,
): LocatedFinding[] {
  const stored = new Map(objects.map(({ object }) => [objectKey(object), object]));
  return mapWithProgress(manifests, io, "manifests checked", (manifest) => {
    const old = stored.get(objectKey(manifest.object)) ?? null;
    if (settings.delete && old === null) return [];
    const change = settings.delete
      ? { object: old ?? {}, old: null, operation: "DELETE" as const }
      : { object: manifest.object, old };
    const input = { ...change, requester: null, origin: "file" as const, inventory };
    return runChecks(input, decisionSettings(settings)).findings.map((finding) => locate(finding, manifest));
  }).flat();
}

function absentWarning(object: JsonObject): string {
  const { kind, namespace, name } = objectReference(object);
  const fullName = namespace === "" ? name : `${namespace}/${name}`;
  return `warning: ${kind} ${fullName} does not exist, so there is nothing to delete`;
}

/**
 * Returns the result for `-o json`. The fields `before` and `after` are resolutions, or null if the resource does not
 * exist.
 */
function comparisonJSON({ impacts, resources }: ImpactComparison): object {
  return {
    summary: { resources, unchanged: resources - impacts.length, ...countsOf(impacts) },
    changes: impacts.map(({ resource, ...impact }) => ({ resource: resourceName(resource), ...impact })),
  };
}

/** The text of each type of change, for the summary and the table cells. */
const CHANGE_TEXT: Readonly<Record<Change, string>> = {
  conflict: "now in conflict", refused: "now refused", default: "now default", account: "other account",
  role: "other role", region: "other region", selected: "now selected", identity: "other identity",
  source: "other source", secret: "other Secret", selector: "other selector", added: "added", removed: "removed",
};

/** Returns the lines of the findings of severity deny. */
function denialLines(denials: readonly LocatedFinding[], paint: Paint): string[] {
  if (denials.length === 0) return [];
  return ["", paint("bold", "The webhook would deny"), ...denials.flatMap((denial) => findingLines(denial, paint))];
}

/** Returns the lines of the counts and of the changed resources. */
function comparisonLines({ impacts, resources }: ImpactComparison, format: TableFormat, paint: Paint): string[] {
  const counts = countsOf(impacts);
  const changed = CHANGES.filter((change) => counts[change] > 0);
  const texts = changed.map((change) => `${counts[change]} ${CHANGE_TEXT[change]}`);
  const unchanged = `${resources - impacts.length} unchanged`;
  const summary = `${countOf(resources, "resource")}: ${[...texts, unchanged].join(", ")}`;
  if (impacts.length === 0) return [summary];
  const cell = format.isWide ? wideCell : changedValue;
  const rows = impacts.map((impact) => [
    impact.resource.namespace, `${impact.resource.kind}/${impact.resource.name ?? ""}`, CHANGE_TEXT[impact.change],
    cell(impact, "before"), cell(impact, "after"),
  ]);
  const header = ["NAMESPACE", "RESOURCE", "CHANGE", "BEFORE", "AFTER"];
  const [headerLine = "", ...lines] = formatTable([header, ...rows], format);
  const colored = lines.map((line, i) => {
    const change = impacts[i]?.change ?? "role";
    const text = CHANGE_TEXT[change];
    return line.replace(`  ${text}`, `  ${paint(DISRUPTIVE.has(change) ? "red" : "yellow", text)}`);
  });
  return [summary, "", paint("bold", headerLine), ...colored];
}
