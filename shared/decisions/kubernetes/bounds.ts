import type { FieldPath, FieldStep } from "./field-path.ts";

/** The bounds of a JSON value. */
export interface Bounds {
  readonly maxDepth: number;
  readonly maxValues: number;
}

/** The first excess that `excessOf` finds. */
export interface Excess {
  /** At most the first 10 steps, since a deep path would not fit into a message. */
  readonly path: FieldPath;
  readonly message: string;
}

const STEPS_IN_PATH = 10;

/** A value that is still to be visited, linked to the value that contains it. */
interface Visit {
  readonly value: unknown;
  readonly step: FieldStep | null;
  readonly parent: Visit | null;
  readonly depth: number;
}

/**
 * Returns the first excess of a JSON value, or null. Visits at most `maxValues` values, without recursion: a client
 * chooses how deeply the value is nested.
 */
export function excessOf(root: unknown, { maxDepth, maxValues }: Bounds): Excess | null {
  const open: Visit[] = [{ value: root, step: null, parent: null, depth: 0 }];
  let values = 0;
  for (let visit = open.pop(); visit !== undefined; visit = open.pop()) {
    const { value, depth } = visit;
    if (typeof value !== "object" || value === null) continue;
    if (depth >= maxDepth) {
      return { path: pathTo(visit), message: `the object is nested deeper than ${maxDepth} levels` };
    }
    const steps = Array.isArray(value) ? value.keys() : Object.keys(value);
    for (const step of steps) {
      if (++values > maxValues) return { path: [], message: `the object has more than ${maxValues} values` };
      open.push({ value: Reflect.get(value, step), step, parent: visit, depth: depth + 1 });
    }
  }
  return null;
}

function pathTo(visit: Visit): FieldPath {
  const path: FieldStep[] = [];
  for (let at: Visit | null = visit; at !== null; at = at.parent) if (at.step !== null) path.push(at.step);
  return path.toReversed().slice(0, STEPS_IN_PATH);
}
