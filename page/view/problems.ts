import { type State, STATES } from "../../shared/role-map/role-map.ts";
import { columnOf } from "./columns.ts";
import type { KnownUse, Model } from "./model.ts";
import { subjectOf } from "./moves.ts";
import { resourcesIn } from "./rows.ts";

/** Where something is wrong. */
export interface Place {
  /** What has the problem, such as a namespace, a selector or a file. */
  readonly subject: string;
  readonly detail: string;
  /** What the panel explains; [] if it explains nothing more. */
  readonly open: readonly string[];
}

/** Everything that is wrong in one way. */
export interface ProblemGroup {
  /** Null for findings of objects that have no state. */
  readonly state: State | null;
  /** The number of resources, selectors or objects. */
  readonly count: number;
  readonly places: readonly Place[];
}

const NO_ACCOUNTS: ReadonlySet<string> = new Set();

/** Returns what is wrong, in the order of the states, and then the findings of other objects. */
export function problemGroups(model: Model): ProblemGroup[] {
  const { totals, objects, findings } = model.map;
  const groups = STATES.filter((state) => state !== "resolved").map((state): ProblemGroup => ({
    state, count: totals.states[state], places: [...placesOf(model, state)],
  }));
  const others = objects.map((object, index): Place => ({
    subject: [object.kind, object.name].join(" "), open: ["object", String(index)],
    detail: [...new Set(object.findings.flatMap((one) => findings[one]?.code ?? []))].join(", "),
  }));
  return [...groups, { state: null, count: others.length, places: others }].filter(({ count }) => count > 0);
}

function* placesOf({ map, uses }: Model, state: State): Iterable<Place> {
  for (const selector of map.selectors) {
    if (selector.state !== state) continue;
    const { name, findings: [first = -1] } = selector;
    yield { subject: name, detail: map.findings[first]?.code ?? "", open: ["selector", name] };
  }
  const own = uses.filter(({ reason }) => reason.state === state);
  for (const same of Map.groupBy(own, addressText).values()) yield* placeOf(same);
  if (state !== "unjudged") return;
  for (const { file, count, where } of map.unjudged) {
    yield { subject: file ?? "in the cluster", detail: `${count} ${where}`, open: [] };
  }
}

function addressOf(use: KnownUse): readonly [type: string, namespace: string, column: string] {
  return ["cell", use.namespace.name, columnOf(use, NO_ACCOUNTS).id];
}

function addressText(use: KnownUse): string {
  return JSON.stringify(addressOf(use));
}

/** Yields the place of uses in one cell. */
function* placeOf(uses: readonly KnownUse[]): Iterable<Place> {
  const [first] = uses;
  if (first === undefined) return;
  const kinds = new Set(uses.map(({ kind }) => kind));
  const count = resourcesIn(uses);
  const detail = kinds.size === 1 ? subjectOf({ ...first, count }) : `${count} of ${kinds.size} kinds`;
  yield { subject: first.namespace.name, detail, open: addressOf(first) };
}
