import { setImmediate as turn } from "node:timers/promises";
import { type JudgeInput, type Judgement, judgeSteps } from "../shared/decisions/checks/judge.ts";
import type { DecisionSettings } from "../shared/decisions/settings.ts";
import { inSlices } from "../shared/server/slices.ts";

/** The time of one review. */
export interface ReviewTime {
  /** Milliseconds of a clock that never goes back. */
  readonly monotonicMs: () => number;
  /** How long the answer may still take, in ms. */
  readonly remainingMs: () => number;
}

/** The most that one review holds up all others. */
const SLICE_MS = 10;

/** Runs every check that looks at such a change, in slices. Rejects with ERR_REQUEST_DEADLINE rather than answer late. */
export async function judgeInSlices(input: JudgeInput, settings: DecisionSettings, { monotonicMs, remainingMs }: ReviewTime): Promise<Judgement> {
  return inSlices(judgeSteps(input, settings), { sliceMs: SLICE_MS, now: monotonicMs, pause: turn, remainingMs });
}
