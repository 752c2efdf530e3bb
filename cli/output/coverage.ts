import { isChecked } from "../../shared/judges.ts";
import { choosesRole, countUnjudged, type Unjudged, unjudgedText } from "../../shared/files/unjudged.ts";
import { countOf } from "../../shared/formats/text.ts";
import { type IO, writeLines } from "../io.ts";
import type { State } from "../input/state.ts";
import { templatesIn } from "../input/templates.ts";

/** How much of the input a command judged, in the format of `-o json`. */
export interface Coverage {
  readonly judged: number;
  readonly notJudged: number;
  /** The number of objects that can choose a role and were not judged, by reason. */
  readonly reasons: ReturnType<typeof countUnjudged>;
}

export function coverageOf(judged: number, unjudged: readonly Unjudged[]): Coverage {
  const notJudged = unjudged.reduce((sum, { count }) => sum + count, 0);
  return { judged, notJudged, reasons: countUnjudged(unjudged) };
}

/** Returns the coverage of a command that judges only objects of a cluster, and no templates. */
export function coverageWithoutTemplates(
  state: Pick<State, "objects" | "inventory">, unjudged: readonly Unjudged[],
): Coverage {
  const judged = state.objects.filter(({ object }) => isChecked(object, state.inventory)).length;
  return coverageOf(judged, [...unjudged, ...unjudgedTemplates(state)]);
}

/** Returns the templates in objects that can choose a role. */
export function unjudgedTemplates(state: Pick<State, "objects" | "inventory">): Unjudged[] {
  return templatesIn(state).filter(({ object }) => choosesRole(object)).map(({ container: { file } }) => (
    { file, reason: "template", count: 1 } as const
  ));
}

/** Writes `2 objects judged, 0 not judged` to stderr. */
export function writeCoverage({ judged, reasons }: Coverage, io: IO): void {
  writeLines(io.stderr, [`${countOf(judged, "object")} judged, ${unjudgedText(reasons)}`]);
}

/** Returns whether the objects that were not judged set the exit status to 1. */
export function isIncomplete({ notJudged }: Coverage, failOn: readonly string[]): boolean {
  return notJudged > 0 && failOn.includes("unjudged");
}
