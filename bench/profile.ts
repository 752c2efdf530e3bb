import path from "node:path";
import { fileURLToPath } from "node:url";

/** The share of the busy time that a function takes itself, without the functions that it calls. */
export interface ProfileLine {
  readonly share: number;
  /** Such as `runChecks shared/core/run.ts`. */
  readonly place: string;
}

/** The parts of a .cpuprofile that the summary reads: https://chromedevtools.github.io/devtools-protocol/v8/Profiler/ */
export interface CPUProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
  }[];
  readonly samples: readonly number[];
  /** The time before each sample, in us. */
  readonly timeDeltas: readonly number[];
}

const ROOT = path.join(import.meta.dirname, "..");
const LINES = 25;

const IDLE = new Set(["(idle)", "(root)"]);

/** Returns the functions with the largest shares of the time in which the thread is not idle. */
export function profileLines(profiled: CPUProfile): readonly ProfileLine[] {
  const total = busyUs(profiled);
  return [...selfTimes(profiled)]
    .map(([place, us]) => ({ share: Number((us / total).toFixed(4)), place }))
    .toSorted((a, b) => b.share - a.share)
    .slice(0, LINES);
}

export function busyUs(profiled: CPUProfile): number {
  return [...selfTimes(profiled).values()].reduce((sum, us) => sum + us, 0);
}

function selfTimes({ nodes, samples, timeDeltas }: CPUProfile): ReadonlyMap<string, number> {
  const places = new Map(nodes.map(({ id, callFrame }) => [
    id, IDLE.has(callFrame.functionName) ? null : placeOf(callFrame.functionName, callFrame.url),
  ]));
  const times = new Map<string, number>();
  for (const [i, id] of samples.entries()) {
    const place = places.get(id);
    if (place === undefined || place === null) continue;
    times.set(place, (times.get(place) ?? 0) + (timeDeltas[i] ?? 0));
  }
  return times;
}

function placeOf(name: string, url: string): string {
  const file = url.startsWith("file:") ? path.relative(ROOT, fileURLToPath(url)) : url;
  return `${name === "" ? "(anonymous)" : name} ${file}`.trimEnd();
}
