import {
  ACCOUNT_MAP, IGNORED_NAMESPACES, OWNER_ACCOUNT_ANNOTATION, PROPOSED_TEAM_ANNOTATION, TEAM_ANNOTATION, TEAM_MAP,
} from "../contract/annotation-keys.ts";
import { serviceOf } from "../contract/ack-groups.ts";
import type { DecisionSettings } from "../contract/context.ts";
import type { ErrorCode } from "../formats/errors.ts";
import type { ResourceQuery } from "../contract/ack-resource.ts";
import { parseARN, roleARNFaults } from "../formats/arn.ts";
import { quote } from "../formats/text.ts";

type StringMap = ReadonlyMap<string, string>;

/** The part of the inventory that CARM reads. */
interface CARMState {
  readonly namespaces: { annotationsOf(namespace: string): StringMap };
  readonly carmMaps: { data(namespace: string, name: string): StringMap | null };
}

/** The role that a CARM map specifies for a resource, or the error that prevents the controller from reconciling it. */
export type MapLookup =
  | { readonly via: MapEntry["via"]; readonly key: string; readonly roleARN: string; readonly code: null }
  | {
    readonly via: MapEntry["via"];
    readonly key: string;
    readonly roleARN: null;
    readonly code: ErrorCode;
    readonly message: string;
  };

/** The entry of a CARM map that a controller looks up for a resource. */
export interface MapEntry {
  readonly via: "team-map" | "account-map";
  readonly map: string;
  readonly key: string;
}

type OwnedResource = Pick<ResourceQuery, "group" | "namespace" | "status">;

const NO_ANNOTATIONS: StringMap = new Map();

/** Returns the annotations that CARM reads on a namespace. The result is empty if CARM ignores the namespace. */
export function carmAnnotations(namespace: string, annotations: StringMap): StringMap {
  return IGNORED_NAMESPACES.has(namespace) ? NO_ANNOTATIONS : annotations;
}

/** Returns the team in the annotations of a namespace, or "" if the annotations name no team. */
export function teamOf(annotations: StringMap, { runtime }: Pick<DecisionSettings, "runtime">): string {
  const team = annotations.get(TEAM_ANNOTATION) ?? "";
  return team === "" && runtime === "extended" ? (annotations.get(PROPOSED_TEAM_ANNOTATION) ?? "") : team;
}

/**
 * Looks up the role of a resource. Returns null if the resource uses the controller's own role. If the team of the
 * namespace has no role, CARM does not look up the account instead.
 */
export function lookUpMaps(state: CARMState, query: OwnedResource, settings: DecisionSettings): MapLookup | null {
  const annotations = carmAnnotations(query.namespace, state.namespaces.annotationsOf(query.namespace));
  const entry = mapEntryOf(annotations, query, settings);
  if (entry === null) return null;
  return lookUpEntry(state.carmMaps.data(settings.ackSystemNamespace, entry.map), query.group, entry, settings);
}

/**
 * Returns the map entry that a controller looks up for a resource. `annotations` are the annotations of its namespace.
 * The key is the first of these that is set: the team of the namespace, the account of the namespace, the account in
 * which the resource exists. Returns null if the resource uses the controller's own role.
 */
export function mapEntryOf(
  annotations: StringMap, { status }: Pick<ResourceQuery, "status">, settings: DecisionSettings,
): MapEntry | null {
  const team = settings.teamLevelCARM ? teamOf(annotations, settings) : "";
  if (team !== "") return { via: "team-map", map: TEAM_MAP, key: team };
  const owner = annotations.get(OWNER_ACCOUNT_ANNOTATION) ?? "";
  // CARM looks up the account of a namespace even if the account is the controller's own account.
  const account = owner === "" ? foreignAccount(status.ownerAccountID, settings) : owner;
  return account === null ? null : { via: "account-map", map: ACCOUNT_MAP, key: account };
}

function foreignAccount(accountID: string | null, { controllerAccount }: DecisionSettings): string | null {
  return accountID === controllerAccount ? null : accountID;
}

/** Looks up a map entry as a controller of `group` does. `data` is null if the ConfigMap does not exist. */
export function lookUpEntry(
  data: StringMap | null, group: string, { via, map, key }: MapEntry, settings: DecisionSettings,
): MapLookup {
  const configMap = `ConfigMap ${settings.ackSystemNamespace}/${map}`;
  const fail = (code: ErrorCode, message: string): MapLookup => ({ via, key, roleARN: null, code, message });
  if (data === null) {
    return fail("ERR_CARM_MAP_MISSING", `${configMap} does not exist, so key ${quote(key)} has no role.`);
  }
  const serviceRole = settings.serviceLevelCARM ? (data.get(`${serviceOf(group)}.${key}`) ?? "") : "";
  const roleARN = serviceRole === "" ? data.get(key) : serviceRole;
  if (roleARN === undefined) return fail("ERR_CARM_KEY_MISSING", `${configMap} has no key ${quote(key)}.`);
  if (roleARN === "") return fail("ERR_CARM_VALUE_EMPTY", `${configMap} has no role for key ${quote(key)}.`);
  if (isAccepted(roleARN, settings)) return { via, key, roleARN, code: null };
  return fail("ERR_CARM_ARN", `The value of key ${quote(key)} in ${configMap} is not a role ARN.`);
}

/** Whether controllers accept the value of a map entry. The shipped controllers accept every ARN. */
function isAccepted(text: string, { runtime }: DecisionSettings): boolean {
  const arn = parseARN(text);
  return arn !== null && (runtime === "ack" || roleARNFaults(text, arn).length === 0);
}
