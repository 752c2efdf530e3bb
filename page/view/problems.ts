import { type State, STATES } from "../../shared/role-map/role-map.ts";
import { columnOf } from "./columns.ts";
import type { KnownUse, Model } from "./model.ts";
import { shortKind } from "./words.ts";

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
    detail: object.findings.flatMap((one) => findings[one]?.code ?? []).join(", "),
  }));
  return [...groups, { state: null, count: others.length, places: others }].filter(({ count }) => count > 0);
}

function* placesOf({ map, uses }: Model, state: State): Iterable<Place> {
  for (const selector of map.selectors) {
    if (selector.state !== state) continue;
    const { name, findings: [first = -1] } = selector;
    yield { subject: name, detail: map.findings[first]?.code ?? "", open: ["selector", name] };
  }
  for (const use of uses) if (use.reason.state === state) yield placeOf(use);
  if (state !== "unjudged") return;
  for (const { file, count, where } of map.unjudged) {
    yield { subject: file ?? "in the cluster", detail: `${count} ${where}`, open: [] };
  }
}

function placeOf(use: KnownUse): Place {
  const { namespace, kind, count, names: [first] } = use;
  const detail = count === 1 && first !== undefined ? `${shortKind(kind)}/${first}` : `${count} × ${shortKind(kind)}`;
  return { subject: namespace.name, detail, open: ["cell", namespace.name, columnOf(use, NO_ACCOUNTS).id] };
}
