import type { Reason } from "../../shared/role-map/role-map.ts";
import { columnOf, compare } from "./columns.ts";
import type { KnownUse, Model } from "./model.ts";

/** Resources that have their role for the same reason. */
export interface ReasonGroup {
  readonly reason: Reason;
  readonly uses: readonly KnownUse[];
}

/** Returns the uses of the namespaces in a column, by reason. */
export function cellReasons(model: Model, namespaces: readonly string[], columnID: string): ReasonGroup[] {
  const names = new Set(namespaces);
  // A column of a role is a part of the column of its account, so either address finds the use.
  const uses = model.uses.filter((use) => names.has(use.namespace.name) && columnIDs(use).includes(columnID));
  return reasonGroups(uses);
}

function columnIDs(use: KnownUse): string[] {
  const account = new Set([use.role?.account ?? "no account"]);
  return [columnOf(use, new Set()).id, columnOf(use, account).id];
}

export function reasonGroups(uses: readonly KnownUse[]): ReasonGroup[] {
  return Array.from(Map.groupBy(uses, ({ reason }) => reason), ([reason, own]) => ({ reason, uses: own }));
}

/** The resources that have a role because of one selector, or without one. */
export interface RoleUsers {
  /** The index of the selector; null for resources that have the role by a map or an identity. */
  readonly selector: number | null;
  readonly uses: readonly KnownUse[];
}

/** Returns who uses the role: each selector that names it, also if no resource has the role because of it. */
export function usersOfRole(model: Model, arn: string): RoleUsers[] {
  const { selectors, roles } = model.map;
  const uses = model.uses.filter(({ role, reason }) => role?.arn === arn && reason.outcome !== "default");
  const bySelector = Map.groupBy(uses, ({ reason }) => reason.selectors[0] ?? null);
  const own = selectors.flatMap(({ role }, index) => (role !== null && roles[role]?.arn === arn ? [index] : []));
  const all = new Set<number | null>([...own, ...bySelector.keys()]);
  return Array.from(all, (selector) => ({ selector, uses: bySelector.get(selector) ?? [] }));
}

/** The resources of one namespace. */
export interface NamespaceUses {
  readonly namespace: string;
  readonly uses: readonly KnownUse[];
}

export function byNamespace(uses: readonly KnownUse[]): NamespaceUses[] {
  const groups = Map.groupBy(uses, ({ namespace }) => namespace.name);
  return Array.from(groups, ([namespace, own]) => ({ namespace, uses: own }))
    .toSorted((a, b) => compare(a.namespace, b.namespace));
}
