import { isChecked } from "../../shared/judges.ts";
import { isKindDefinition } from "../../shared/core/ack-groups.ts";
import {
  choosesRole, countUnjudged, isOfUnknownKind, type OtherKind, type Unjudged, unjudgedLines, unjudgedText,
} from "../../shared/files/unjudged.ts";
import { objectReference } from "../../shared/formats/object-meta.ts";
import { compareText, printable } from "../../shared/formats/text.ts";
import { type IO, isVerbose, type LogSettings, withoutNotes, writeLines, writeText } from "../io.ts";
import type { State, StateObject } from "../input/state.ts";
import { countJudged, type Judged, judgedObjects, templatesIn } from "../input/templates.ts";

/** How much of the input a command judged, in the format of `-o json`. */
interface Coverage {
  readonly judged: number;
  readonly notJudged: number;
  /** The number of objects that can choose a role and were not judged, by reason. */
  readonly reasons: ReturnType<typeof countUnjudged>;
}

/** How much of the input a command judged, and what it did not judge. */
export interface Covered {
  readonly coverage: Coverage;
  /** The objects that can choose a role and were not judged. */
  readonly unjudged: readonly Unjudged[];
  /** The objects that cannot choose a role. The kinds of most objects come first. */
  readonly otherKinds: readonly OtherKind[];
}

/** Returns the coverage of a command that judges these objects and templates of the objects, and `reported` others. */
export function coverageOf(
  objects: readonly StateObject[], judged: readonly Judged[], unjudged: readonly Unjudged[],
  reported: readonly StateObject[] = [],
): Covered {
  const touched = new Set([...judgedObjects(judged), ...reported]);
  return covered(objects, { count: countJudged(judged), touched }, unjudged);
}

/** Returns the coverage of a command that judges only objects of a cluster, and no templates. */
export function coverageWithoutTemplates(
  state: Pick<State, "objects" | "inventory">, unjudged: readonly Unjudged[],
): Covered {
  const judged = state.objects.filter(({ object }) => isChecked(object, state.inventory));
  const touched = new Set([...judged, ...templatesIn(state).map(({ container }) => container)]);
  return covered(state.objects, { count: judged.length, touched }, [...unjudged, ...unjudgedTemplates(state)]);
}

function covered(
  objects: readonly StateObject[],
  { count: judged, touched }: { readonly count: number; readonly touched: ReadonlySet<StateObject> },
  unjudged: readonly Unjudged[],
): Covered {
  const notJudged = unjudged.reduce((sum, { count }) => sum + count, 0);
  const sources = new Set(Array.from(touched, ({ from }) => from));
  const others = objects.filter((found) => (
    !touched.has(found) && !sources.has(found) && !isKindDefinition(found.object) && !isOfUnknownKind(found.object)
  ));
  const byKind = Array.from(
    Map.groupBy(others, ({ object }) => printable(objectReference(object).kind)),
    ([kind, own]): OtherKind => ({ kind, count: own.length, files: filesOf(own) }),
  ).toSorted((a, b) => b.count - a.count || compareText(a.kind, b.kind));
  return {
    coverage: { judged, notJudged, reasons: countUnjudged(unjudged) }, unjudged, otherKinds: byKind,
  };
}

function filesOf(objects: readonly StateObject[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { file } of objects) if (file !== null) counts.set(file, (counts.get(file) ?? 0) + 1);
  return counts;
}

/** Returns the templates in objects that can choose a role. */
export function unjudgedTemplates(state: Pick<State, "objects" | "inventory">): Unjudged[] {
  return templatesIn(state).filter(({ object }) => choosesRole(object)).map(({ container: { file } }) => (
    { file, reason: "template", count: 1 } as const
  ));
}

/** Returns `2 objects not judged: in Kustomize patches`; null if all are judged. */
export function notJudgedText({ coverage, otherKinds }: Covered): string | null {
  return unjudgedText(coverage.reasons, otherKinds.reduce((sum, { count }) => sum + count, 0));
}

/** Returns the reasons, files and kinds of what was not judged. */
export function notJudgedLines({ unjudged, otherKinds }: Covered): string[] {
  return unjudgedLines(unjudged, otherKinds).map(printable);
}

export const MORE = "-v for details";

/** Writes to stderr what was not judged: in one line, or with `--verbose` each reason, file and kind. */
export function writeNotJudged(all: Covered, settings: LogSettings, io: IO): void {
  const { stderr } = withoutNotes(io, settings);
  const summary = notJudgedText(all);
  if (isVerbose(settings)) writeLines(stderr, notJudgedLines(all));
  else if (summary !== null) writeText(stderr, [`${summary} (${MORE})`], io);
}

/** Returns whether the objects that were not judged set the exit status to 1. */
export function isIncomplete({ coverage }: Covered, failOn: readonly string[]): boolean {
  return coverage.notJudged > 0 && failOn.includes("unjudged");
}
