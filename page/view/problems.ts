import { type MapRole, type State, STATES } from "../../shared/diagnosis/role-map/role-map.ts";
import { columnOf } from "./columns.ts";
import { usersOfRole, usersText } from "./details.ts";
import { type KnownUse, matches, type Model } from "./model.ts";
import { subjectOf } from "./moves.ts";
import { resourcesIn, someOf } from "./rows.ts";
import { counted, HEADLINES, plural, roleName } from "./words.ts";

/** Where something is wrong. */
export interface Place {
  /** What has the problem, such as a namespace, a selector or a file. */
  readonly subject: string;
  readonly detail: string;
  /** The number of resources, or 1 for another object. */
  readonly count: number;
  /** What the panel explains. */
  readonly open: readonly string[];
}

/** Everything that is wrong in one way, or the roles or selectors that a search finds, whose state is `resolved`. */
export interface ProblemGroup {
  /** Null for findings of objects that have no state. */
  readonly state: State | null;
  /** The number of resources, selectors or objects. */
  readonly count: number;
  /** Says what is counted, such as `resources in conflict`. */
  readonly title: string;
  readonly places: readonly Place[];
}

const NO_ACCOUNTS: ReadonlySet<string> = new Set();

/** Returns the roles whose name or ARN, in any case, is the query, with or without a path. */
export function foundRoles(model: Model, query: string): MapRole[] {
  const text = query.toLowerCase();
  const isNamed = (arn: string): boolean => (
    arn.endsWith(text) && ["", "/", ":"].includes(arn.charAt(arn.length - text.length - 1))
  );
  return text === "" ? [] : model.map.roles.filter(({ arn }) => (
    isNamed(arn.toLowerCase()) && usersOfRole(model, arn).length > 0
  ));
}

/**
 * Returns who uses the role that a search names, what is wrong in what it finds, in the order of the states, and then
 * the findings of other objects.
 */
export function problemGroups(model: Model, query = ""): ProblemGroup[] {
  const { totals, objects, findings } = model.map;
  const states = STATES.filter((state) => state !== "resolved" || query !== "");
  const others = objects.map((object, index): Place => ({
    subject: [object.kind, object.name].join(" "), count: 1, open: ["object", String(index)],
    detail: [...new Set(object.findings.flatMap((one) => findings[one]?.code ?? []))].join(", "),
  })).filter(({ subject, detail }) => matches([subject, detail], query));
  const groups = states.map((state) => ({ state, places: [...placesOf(model, state, query)] }));
  const wrong = [...groups, { state: null, places: others }].map(({ state, places }): ProblemGroup => {
    const sum = places.reduce((total, { count }) => total + count, 0);
    const count = state === null || query !== "" ? sum : totals.states[state];
    return { state, count, title: titleOf(model, state, count), places };
  });
  return [roleGroup(model, query), ...wrong].filter(({ count }) => count > 0);
}

const MAX_NAMESPACES = 5;

/** Returns who uses the roles that a search names. */
function roleGroup(model: Model, query: string): ProblemGroup {
  const places = foundRoles(model, query).map(({ arn, account }): Place => {
    const uses = usersOfRole(model, arn).flatMap((users) => users.uses);
    const namespaces = someOf(uses.map(({ namespace }) => namespace.name), MAX_NAMESPACES);
    const parts = [account, usersText(uses), namespaces === "" ? null : `Namespaces: ${namespaces}`];
    const detail = parts.filter((part) => part !== null).join(" · ");
    return { subject: roleName(arn), detail, count: 1, open: ["role", arn] };
  });
  return { state: "resolved", count: places.length, title: `${plural(places.length, "role")} found`, places };
}

function titleOf({ uses }: Model, state: State | null, count: number): string {
  const [noun, rest] = HEADLINES[state ?? "other"];
  const refused = state === "refused" ? uses.filter(({ reason }) => reason.state === state) : [];
  const isChoice = refused.length > 0 && refused.every(({ reason }) => reason.code === "ERR_SELECTOR_CHOICE");
  return `${plural(count, noun)} ${isChoice ? "naming an unusable selector" : rest}`.trim();
}

function placesOf(model: Model, state: State, query: string): Place[] {
  const selectors = [...selectorPlaces(model, state, query)];
  if (state === "resolved") return selectors;
  const own = model.uses.filter(({ reason }) => reason.state === state);
  const cells = Map.groupBy(own.flatMap((use) => model.find(use, query) ?? []), addressText);
  const unjudged = state === "unjudged" ? unjudgedPlaces(model, query) : [];
  return [...selectors, ...[...cells.values()].flatMap((uses) => [...placeOf(uses)]), ...unjudged];
}

function* selectorPlaces(model: Model, state: State, query: string): Iterable<Place> {
  const { selectors, findings } = model.map;
  for (const [index, selector] of selectors.entries()) {
    if (selector.state !== state || !matches([...model.selectorTexts(index), ...selector.names], query)) continue;
    const { name, role, findings: [first = -1] } = selector;
    // A search can find several roles of one name.
    const detail = state === "resolved" ? model.roleAt(role)?.account : findings[first]?.code;
    yield { subject: name, detail: detail ?? "", count: 1, open: ["selector", name] };
  }
}

function unjudgedPlaces({ map }: Model, query: string): Place[] {
  return map.unjudged.map(({ file, count, what }, index): Place => (
    { subject: file ?? "in the cluster", detail: what, count, open: ["unjudged", String(index)] }
  )).filter(({ subject, detail }) => matches([subject, detail], query));
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
  const detail = kinds.size === 1
    ? subjectOf({ ...first, count })
    : `${counted(count, "resource")}, ${counted(kinds.size, "kind")}`;
  yield { subject: first.namespace.name, detail, count, open: addressOf(first) };
}
