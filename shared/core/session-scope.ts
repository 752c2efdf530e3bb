import ackScopes from "./ack-scopes.json" with { type: "json" };
import { ResolverError } from "../formats/errors.ts";
import type { JsonObject } from "../formats/json.ts";
import { compareText, listOf } from "../formats/text.ts";

/** A condition of a restricted action: one of the values, in which `*` stands for any text. */
interface Only {
  readonly key: string;
  readonly values: readonly string[];
}

/** Actions of other services than the controller's own, on all resources unless limited. */
export interface ForeignActions {
  readonly actions: readonly string[];
  readonly resources?: readonly string[];
  readonly only?: Only;
  /** Who demands the actions of the controller: a policy, operations, or a page of AWS. */
  readonly from: string;
}

/** What one controller needs at most. */
export interface ServiceScope {
  /** The date and the commit of the controller. */
  readonly date: string;
  readonly commit: string;
  /** The actions of its own service. */
  readonly actions: readonly string[];
  readonly foreign: readonly ForeignActions[];
}

/** The scopes of the controllers by their API group. Made by `npm run renew-policies`. */
export const SCOPES: ReadonlyMap<string, ServiceScope> = new Map(Object.entries<ServiceScope>(ackScopes));

/** Actions that are allowed on some resources, or under one of several conditions. */
interface Restricted {
  readonly actions: readonly string[];
  readonly resources: readonly string[];
  readonly only: readonly Only[];
}

/** What the controllers of a sidecar need together. Actions can contain `*`. */
export interface SessionScope {
  readonly actions: readonly string[];
  readonly restricted: readonly Restricted[];
}

/**
 * Returns what the controllers of the groups need together. Throws ERR_SESSION_SCOPE if the table has no row for a
 * group, because the sessions could then do too much or too little.
 */
export function scopeOf(groups: readonly string[]): SessionScope {
  const unknown = groups.filter((group) => !SCOPES.has(group));
  if (unknown.length > 0) throw new ResolverError("ERR_SESSION_SCOPE", unknownScope(unknown));
  const scopes = [...SCOPES].filter(([group]) => groups.includes(group)).map(([, scope]) => scope);
  const rows = scopes.flatMap(({ actions: own, foreign }): readonly Row[] => [{ actions: own }, ...foreign]);
  const whole = rows.filter(({ resources, only }) => resources === undefined && only === undefined);
  const actions = withoutCovered(whole.flatMap((row) => row.actions));
  return { actions, restricted: restrictedOf(rows.filter((row) => !whole.includes(row)), actions) };
}

/** Returns why sessions of the groups cannot be limited to the needs of their controllers, and what to do. */
export function unknownScope(groups: readonly string[]): string {
  return `What the controllers of ${listOf(groups)} need is not in the table of scopes. Write the annotation `
    + "ack-role-resolver.io/session-scope: none into the selector, with an own session-policy if you can, or set "
    + "--session-scope none.";
}

/** Whether a pattern of the table, such as `s3:Get*`, covers the action or pattern. The names ignore the case. */
export function coversAction(pattern: string, action: string): boolean {
  const escaped = pattern.replaceAll("*", ".*");
  return pattern === action || new RegExp(`^${escaped}$`, "i").test(action);
}

/** Returns the patterns that no other pattern covers, sorted. */
function withoutCovered(actions: readonly string[]): readonly string[] {
  const distinct = [...new Set(actions)].toSorted(compareText);
  return distinct.filter((action) => !distinct.some((other) => other !== action && coversAction(other, action)));
}

type Row = Omit<ForeignActions, "from">;

/** Adds up the restrictions of each action, and joins the actions with the same ones. */
function restrictedOf(rows: readonly Row[], whole: readonly string[]): readonly Restricted[] {
  const byAction = Map.groupBy(
    rows.flatMap(({ actions, ...row }) => actions.map((action) => ({ action, ...row }))), ({ action }) => action,
  );
  const added = Array.from(byAction, ([action, alternatives]) => {
    const keys = Map.groupBy(alternatives.flatMap(({ only }) => only ?? []), ({ key }) => key);
    const only = Array.from(keys, ([key, same]) => ({ key, values: sortedSet(same.flatMap(({ values }) => values)) }));
    return { action, resources: sortedSet(alternatives.flatMap((one) => one.resources ?? [])), only };
  }).filter(({ action }) => !whole.some((pattern) => coversAction(pattern, action)));
  const joined = new Map<string, Restricted & { readonly actions: string[] }>();
  for (const { action, resources, only } of added) {
    const key = JSON.stringify([resources, only]);
    const same = joined.get(key);
    if (same === undefined) joined.set(key, { actions: [action], resources, only });
    else same.actions.push(action);
  }
  return Array.from(joined.values(), ({ actions, ...rest }) => ({ actions: sortedSet(actions), ...rest }));
}

function sortedSet(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].toSorted(compareText);
}

const ANY = "*";

/** Returns the statements of a session policy that allows the scope. */
export function allowStatements({ actions, restricted }: SessionScope): readonly JsonObject[] {
  const own = { Effect: "Allow", Action: [...actions], Resource: ANY };
  return [own, ...restricted.flatMap(({ actions: some, resources, only }): readonly JsonObject[] => [
    ...(resources.length === 0 ? [] : [{ Effect: "Allow", Action: [...some], Resource: [...resources] }]),
    ...only.map((one) => ({ Effect: "Allow", Action: [...some], Resource: ANY, Condition: conditionOf([one], "") })),
  ])];
}

/**
 * Returns the statements that deny all but the scope, also where other policies of the session allow more: STS allows
 * what one policy of a session allows, and a denial wins.
 */
export function denyStatements({ actions, restricted }: SessionScope): readonly JsonObject[] {
  const all = sortedSet([...actions, ...restricted.flatMap((one) => one.actions)]);
  const others = { Effect: "Deny", NotAction: [...all], Resource: ANY };
  return [others, ...restricted.map(({ actions: some, resources, only }): JsonObject => ({
    Effect: "Deny", Action: [...some],
    ...(resources.length === 0 ? { Resource: ANY } : { NotResource: [...resources] }),
    ...(only.length > 0 && { Condition: conditionOf(only, "Not") }),
  }))];
}

/** A negated condition also holds if the request does not have the key. */
function conditionOf(only: readonly Only[], not: "" | "Not"): JsonObject {
  const conditions = only.map((one) => conditionOn(one, not));
  const byOperator = Map.groupBy(conditions, ({ operator }) => operator);
  return Object.fromEntries(Array.from(byOperator, ([operator, same]) => (
    [operator, Object.fromEntries(same.map(({ key, values }) => [key, [...values]]))]
  )));
}

function conditionOn({ key, values }: Only, not: "" | "Not"): Only & { readonly operator: string } {
  if (values.length === 1 && values[0] === "true") {
    return not === "" ? { operator: "Bool", key, values } : { operator: "BoolIfExists", key, values: ["false"] };
  }
  const isLike = values.some((value) => value.includes(ANY));
  return { operator: `String${not}${isLike ? "Like" : "Equals"}`, key, values };
}
