import type { MapRole, Reason } from "../../shared/diagnosis/role-map/role-map.ts";
import { columnOf, compare } from "./columns.ts";
import type { KnownUse, Model } from "./model.ts";
import { resourcesIn } from "./rows.ts";
import { counted } from "./words.ts";

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

/** The resources that have a role because of one selector, or would without a conflict, or without any selector. */
export interface RoleUsers {
  /** The index of the selector; null for resources that have the role by a map or an identity. */
  readonly selector: number | null;
  readonly uses: readonly KnownUse[];
}

/** Returns who uses the role: each selector that names it, also if no resource has the role because of it. */
export function usersOfRole(model: Model, arn: string): RoleUsers[] {
  const selectors = model.map.selectors.flatMap(({ role }, selector) => (
    model.roleAt(role)?.arn === arn ? [{ selector, uses: usersOfSelector(model, selector) }] : []
  ));
  const others = model.uses.filter(({ role, reason: { outcome, selectors: own } }) => (
    role?.arn === arn && outcome !== "default" && own.length === 0
  ));
  return others.length === 0 ? selectors : [...selectors, { selector: null, uses: others }];
}

/** Returns the resources that a selector selects, also those in conflict. */
export function usersOfSelector({ uses }: Model, index: number): KnownUse[] {
  return uses.filter(({ reason }) => reason.selectors.includes(index));
}

/** Returns the indexes of the malformed selectors that are written for the namespaces of the uses. */
export function ignoredIn(uses: readonly KnownUse[]): number[] {
  return [...new Set(uses.flatMap(({ namespace }) => namespace.ignored))];
}

export function inConflict(uses: readonly KnownUse[]): KnownUse[] {
  return uses.filter(({ reason }) => reason.outcome === "conflict");
}

/** Returns who uses a role now, and who would. */
export function usersText(uses: readonly KnownUse[]): string {
  const waiting = resourcesIn(inConflict(uses));
  const now = resourcesIn(uses) - waiting;
  const text = now === 0 ? "Used by no resource now." : `Used by ${counted(now, "resource")}.`;
  const others = counted(waiting, now === 0 ? "resource" : "more resource");
  return waiting === 0 ? text : `${text} ${others} would use it, but ${waiting === 1 ? "is" : "are"} in conflict.`;
}

/** Returns what a selector selects, such as `Selects 4 resources in 1 namespace, all in conflict`. */
export function selectionText(uses: readonly KnownUse[]): string {
  const [all, waiting] = [resourcesIn(uses), resourcesIn(inConflict(uses))];
  if (all === 0) return "Selects no resource";
  const part = waiting === all ? "all" : `${waiting.toLocaleString("en")} of them`;
  const text = `Selects ${counted(all, "resource")} in ${counted(byNamespace(uses).length, "namespace")}`;
  return waiting === 0 ? text : `${text}, ${part} in conflict`;
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

/** Returns the roles that resources use or that selectors grant, and the number of those in use. */
export function rolesOf(model: Model): { readonly roles: ReadonlySet<MapRole>; readonly used: number } {
  const used = new Set(model.uses.flatMap(({ role }) => role ?? []));
  const granted = model.map.selectors.filter(({ state }) => state !== "malformed")
    .flatMap(({ role }) => model.roleAt(role) ?? []);
  return { roles: new Set([...used, ...granted]), used: used.size };
}
