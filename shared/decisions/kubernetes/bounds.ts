import type { FieldPath, FieldStep } from "./field-path.ts";

/** The maximum depth and the maximum number of values of a JSON value. */
interface Bounds {
  readonly maxDepth: number;
  readonly maxValues: number;
}

/** The position at which a JSON value first exceeds its bounds. */
export interface Excess {
  /** At most the first 10 steps of the path, because a deep path would not fit into a message. */
  readonly path: FieldPath;
  readonly message: string;
}

const STEPS_IN_PATH = 10;

/** A value that has not been visited yet, linked to its parent value. */
interface Visit {
  readonly value: unknown;
  readonly step: FieldStep | null;
  readonly parent: Visit | null;
  readonly depth: number;
}

/**
 * Returns the position at which a JSON value first exceeds its bounds, or null. Visits at most `maxValues` values. Uses
 * no recursion, because a client controls the nesting depth.
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
