import { compareText } from "../../shared/formats/text.ts";
import { coversAction, type ForeignActions, type ServiceScope } from "../../shared/core/session-scope.ts";
import { addedActions, type Reviewed } from "./reviewed.ts";
import { serviceOf } from "./statements.ts";

/** What the sources say of one controller: the half of a scope that no person decides. */
export interface Published {
  readonly date: string;
  readonly commit: string;
  /** The operations that the controller calls, such as `CreateBucket`. */
  readonly calls: readonly string[];
  /** The actions of its own service that ACK recommends. */
  readonly recommended: readonly string[];
  /** The actions of its own service that its operations need. */
  readonly called: readonly string[];
  /** The actions of other services that its own policy allows. */
  readonly inline: readonly string[];
  /** The dependent actions of its operations, and the operations that need them. */
  readonly dependent: Readonly<Record<string, readonly string[]>>;
}

const MAX_CALLS = 3;

/** Returns the scope of a controller. Throws if it must pass roles, and nobody decided to which service. */
export function assemble(service: string, published: Published, reviewed: Reviewed): ServiceScope {
  const { date, commit, inline, dependent } = published;
  const isDemanded = (action: string): boolean => inline.includes(action) || Object.hasOwn(dependent, action);
  if (isDemanded("iam:PassRole") && reviewed.passTo.length === 0) throw new Error(`${service}: passTo is missing`);
  if (isDemanded("iam:CreateServiceLinkedRole") && reviewed.linkedRoles.length === 0) {
    throw new Error(`${service}: linkedRoles is missing`);
  }
  const actions = distinct(ownActions(published, reviewed));
  const found = [...dependentRows(dependent), ...inlineRows(inline)].map((row) => (
    { ...row, actions: row.actions.filter((action) => !isDropped(action, reviewed)) }
  ));
  return { date, commit, actions, foreign: withoutRepeated([...addedActions(reviewed), ...found], actions) };
}

function ownActions(
  { recommended, called }: Published, { services, own, passTo, linkedRoles }: Reviewed,
): readonly string[] {
  if (own === "all") return services.map((prefix) => `${prefix}:*`);
  const actions = own === "called" ? called : [...recommended, ...called];
  // Even the controller of IAM passes roles only to services that somebody named.
  const restricted = new Set([
    ...(passTo.length > 0 ? ["iam:PassRole"] : []), ...(linkedRoles.length > 0 ? ["iam:CreateServiceLinkedRole"] : []),
  ]);
  return actions.filter((action) => !restricted.has(action));
}

function dependentRows(dependent: Published["dependent"]): readonly ForeignActions[] {
  const byCalls = Map.groupBy(Object.entries(dependent), ([, calls]) => (
    `${calls.slice(0, MAX_CALLS).join(", ")}${calls.length > MAX_CALLS ? " and others" : ""}`
  ));
  return Array.from(byCalls, ([calls, rows]) => (
    { actions: rows.map(([action]) => action), from: `dependent actions of ${calls}` }
  ));
}

function inlineRows(actions: readonly string[]): readonly ForeignActions[] {
  return [{ actions, from: "recommended-inline-policy of the controller" }];
}

function isDropped(action: string, { services, drops }: Reviewed): boolean {
  return services.includes(serviceOf(action)) || drops.some((pattern) => coversAction(pattern, action));
}

/** Each action stands in its first row. */
function withoutRepeated(rows: readonly ForeignActions[], own: readonly string[]): readonly ForeignActions[] {
  const wide = rows.find(({ only, actions }) => only !== undefined && actions.some((one) => own.includes(one)));
  if (wide !== undefined) throw new Error(`${wide.actions.join(", ")}: restricted, and an own action of the service`);
  const known: string[] = [...own];
  return rows.flatMap(({ actions, ...row }) => {
    const fresh = distinct(actions).filter((action) => !known.some((pattern) => coversAction(pattern, action)));
    known.push(...fresh);
    return fresh.length === 0 ? [] : [{ actions: fresh, ...row }];
  });
}

function distinct(texts: readonly string[]): readonly string[] {
  const sorted = [...new Set(texts)].toSorted(compareText);
  return sorted.filter((text) => !sorted.some((other) => other !== text && coversAction(other, text)));
}
