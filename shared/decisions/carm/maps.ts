import {
  ACCOUNT_MAP, OWNER_ACCOUNT_ANNOTATION, PROPOSED_TEAM_ANNOTATION, TEAM_ANNOTATION, TEAM_MAP,
} from "../annotation-keys.ts";
import type { DecisionSettings } from "../context.ts";
import type { ErrorCode } from "../errors.ts";
import type { Inventory } from "../inventory/inventory.ts";
import type { ResourceQuery } from "../kubernetes/ack-resource.ts";
import { parseARN, roleARNFaults } from "../kubernetes/arn.ts";

/** Controllers ignore what is annotated on these (aws-controllers-k8s/runtime pkg/runtime/cache/namespace.go). */
export const IGNORED_NAMESPACES: ReadonlySet<string> = new Set(["kube-system", "kube-public", "kube-node-lease"]);

/** What the legacy maps say of a resource; null where they say nothing and the controller's own role is used. */
export type MapAnswer =
  | { readonly via: "team-map" | "account-map"; readonly key: string; readonly roleARN: string; readonly code: null }
  | { readonly via: "team-map" | "account-map"; readonly key: string; readonly roleARN: null; readonly code: ErrorCode; readonly message: string };

/** Looks a resource up as CARM does: a team decides alone, with no fall-back to the account. */
export function lookUpMaps(inventory: Inventory, query: Pick<ResourceQuery, "group" | "namespace" | "status">, settings: DecisionSettings): MapAnswer | null {
  const entry = mapEntryOf(carmAnnotations(inventory, query.namespace), query, settings);
  return entry === null ? null : lookUpIn(inventory.configMap(settings.ackSystemNamespace, entry.map), query.group, entry, settings);
}

/** Where CARM looks for the role of a resource. */
export interface MapEntry {
  readonly via: "team-map" | "account-map";
  readonly map: string;
  readonly key: string;
}

/** By the annotations of its namespace as CARM reads them; null where the controller's own role is used. */
export function mapEntryOf(annotations: ReadonlyMap<string, string>, query: Pick<ResourceQuery, "status">, settings: DecisionSettings): MapEntry | null {
  const team = settings.teamLevelCARM ? teamOf(annotations, settings) : "";
  if (team !== "") return { via: "team-map", map: TEAM_MAP, key: team };
  const account = accountKey(annotations.get(OWNER_ACCOUNT_ANNOTATION) ?? "", query, settings);
  return account === null ? null : { via: "account-map", map: ACCOUNT_MAP, key: account };
}

/** What CARM reads of a namespace's annotations, `annotations` in place of those that are known: nothing where it ignores the namespace. */
export function carmAnnotations(inventory: Inventory, namespace: string, annotations = inventory.namespaceAnnotations(namespace)): ReadonlyMap<string, string> {
  return IGNORED_NAMESPACES.has(namespace) ? NOTHING : annotations;
}

const NOTHING: ReadonlyMap<string, string> = new Map();

export function teamOf(annotations: ReadonlyMap<string, string>, { runtime }: Pick<DecisionSettings, "runtime">): string {
  const team = annotations.get(TEAM_ANNOTATION) ?? "";
  return team === "" && runtime === "extended" ? (annotations.get(PROPOSED_TEAM_ANNOTATION) ?? "") : team;
}

/** Whether a namespace with these annotations asks for CARM at all. */
export function namesOwner(annotations: ReadonlyMap<string, string>, context: Pick<DecisionSettings, "runtime">): boolean {
  return (annotations.get(OWNER_ACCOUNT_ANNOTATION) ?? "") !== "" || teamOf(annotations, context) !== "";
}

/** The namespace's, even if it is the controller's own account; else that of a resource which exists in another account. */
function accountKey(owner: string, { status }: Pick<ResourceQuery, "status">, { controllerAccount }: DecisionSettings): string | null {
  if (owner !== "") return owner;
  return status.ownerAccountID !== null && status.ownerAccountID !== controllerAccount ? status.ownerAccountID : null;
}

/** What a map of this data (null: there is none) says under the entry to a controller of `group`. */
export function lookUpIn(data: ReadonlyMap<string, string> | null, group: string, { via, map, key }: MapEntry, settings: DecisionSettings): MapAnswer {
  const where = `ConfigMap ${settings.ackSystemNamespace}/${map}`;
  const refused = (code: ErrorCode, message: string): MapAnswer => ({ via, key, roleARN: null, code, message });
  if (data === null) return refused("ERR_CARM_MAP_MISSING", `${where} is not there, so ${key} has no role.`);
  const serviceKey = `${serviceOf(group)}.${key}`;
  const ofService = settings.serviceLevelCARM ? (data.get(serviceKey) ?? "") : "";
  const roleARN = ofService === "" ? data.get(key) : ofService;
  if (roleARN === undefined) return refused("ERR_CARM_KEY_MISSING", `${where} has no key ${key}.`);
  if (roleARN === "") return refused("ERR_CARM_VALUE_EMPTY", `${where} has no role under the key ${key}.`);
  return isTaken(roleARN, settings) ? { via, key, roleARN, code: null } : refused("ERR_CARM_ARN", `${where} has no role's ARN under the key ${key}.`);
}

/** Controllers take whatever parses as an ARN. */
function isTaken(text: string, { runtime }: DecisionSettings): boolean {
  const arn = parseARN(text);
  return arn !== null && (runtime === "ack" || roleARNFaults(text, arn).length === 0);
}

/** `s3` of `s3.services.k8s.aws`. */
export function serviceOf(group: string): string {
  return group.replace(/\..*$/, "");
}
