import { ACCOUNT_MAP, OWNER_ACCOUNT_ANNOTATION, TEAM_MAP } from "../annotation-keys.ts";
import type { DecisionSettings } from "../context.ts";
import type { ErrorCode } from "../errors.ts";
import type { Inventory } from "../inventory/inventory.ts";
import type { ResourceQuery } from "../kubernetes/ack-resource.ts";
import { parseARN, roleARNFaults } from "../kubernetes/arn.ts";
import { carmAnnotations, teamOf } from "./annotations.ts";

/** What the legacy maps say of a resource; null where they say nothing and the controller's own role is used. */
export type MapAnswer =
  | { readonly via: "team-map" | "account-map"; readonly key: string; readonly roleARN: string; readonly code: null }
  | { readonly via: "team-map" | "account-map"; readonly key: string; readonly roleARN: null; readonly code: ErrorCode; readonly message: string };

/** Looks a resource up as CARM does: a team decides alone, with no fall-back to the account. */
export function lookUpMaps(inventory: Inventory, query: Pick<ResourceQuery, "group" | "namespace" | "status">, settings: DecisionSettings): MapAnswer | null {
  const entry = mapEntryOf(carmAnnotations(query.namespace, inventory.namespaceAnnotations(query.namespace)), query, settings);
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
