import { CARM_MAPS } from "./map-store.ts";
import type { Inventory } from "../core/inventory.ts";
import {
  ACCOUNT_MAP, IGNORED_NAMESPACES, OWNER_ACCOUNT_ANNOTATION, PROPOSED_TEAM_ANNOTATION, TEAM_ANNOTATION, TEAM_MAP,
} from "../core/annotation-keys.ts";
import { serviceOf } from "../core/ack-groups.ts";
import type { DecisionSettings, Runtime } from "../core/context.ts";
import type { ErrorCode } from "../formats/errors.ts";
import type { ResourceQuery } from "../core/ack-resource.ts";
import { parseRoleARN } from "../formats/arn.ts";
import { quote } from "../formats/text.ts";

type StringMap = ReadonlyMap<string, string>;

/** The account or the team whose role a controller looks up in a CARM map. */
export interface MapEntry {
  readonly via: "team-map" | "account-map";
  readonly map: string;
  readonly id: string;
}

/** What a controller finds in a CARM map. `key` is the id, or the key of the controller's service: `s3.team-a`. */
type Found = MapEntry & { readonly key: string };

/** The role that a CARM map specifies for a resource, or the error that prevents the controller from reconciling it. */
export type MapLookup = Found & (
  | { readonly roleARN: string; readonly code: null }
  | { readonly roleARN: null; readonly code: ErrorCode; readonly message: string }
);

type OwnedResource = Pick<ResourceQuery, "group" | "namespace" | "status">;

const NO_ANNOTATIONS: StringMap = new Map();

/** Returns the annotations that CARM reads on a namespace. The result is empty if CARM ignores the namespace. */
export function carmAnnotations(namespace: string, annotations: StringMap): StringMap {
  return IGNORED_NAMESPACES.has(namespace) ? NO_ANNOTATIONS : annotations;
}

/** The annotations of a namespace that can choose a role, first the one that takes precedence. */
export function choosingAnnotations({ runtime, teamLevelCARM }: ChoiceSettings): readonly string[] {
  return [...(teamLevelCARM ? TEAM_ANNOTATIONS[runtime] : []), OWNER_ACCOUNT_ANNOTATION];
}

type ChoiceSettings = Pick<DecisionSettings, "runtime" | "teamLevelCARM">;

const TEAM_ANNOTATIONS: Readonly<Record<Runtime, readonly string[]>> = {
  ack: [TEAM_ANNOTATION], extended: [TEAM_ANNOTATION, PROPOSED_TEAM_ANNOTATION],
};

/** Returns the annotation that chooses the role, or null. An empty annotation chooses nothing. */
export function choosingAnnotation(annotations: StringMap, settings: ChoiceSettings): string | null {
  return firstSet(annotations, choosingAnnotations(settings)).key;
}

/** Returns the first of the annotations that is not empty, and its value; null and "" if all are empty. */
function firstSet(
  annotations: StringMap, keys: readonly string[],
): { readonly key: string | null; readonly value: string } {
  for (const key of keys) {
    const value = annotations.get(key) ?? "";
    if (value !== "") return { key, value };
  }
  return { key: null, value: "" };
}

/** Returns the team in the annotations of a namespace, or "" if the annotations name no team. */
export function teamOf(annotations: StringMap, { runtime }: Pick<DecisionSettings, "runtime">): string {
  return firstSet(annotations, TEAM_ANNOTATIONS[runtime]).value;
}

/**
 * Looks up the role of a resource as the controllers do. Returns null if the resource uses the controller's own role.
 * If the team of the namespace has no role, CARM does not look up the account instead. Default of `annotations`: those
 * of the namespace.
 */
export function lookUpMaps(
  inventory: Inventory, query: OwnedResource, settings: DecisionSettings,
  annotations: StringMap = inventory.namespaces.annotationsOf(query.namespace),
): MapLookup | null {
  const entry = mapEntryOf(carmAnnotations(query.namespace, annotations), query, settings);
  if (entry === null) return null;
  const data = inventory.of(CARM_MAPS).data(settings.ackSystemNamespace, entry.map);
  return lookUpEntry(data, query.group, entry, settings);
}

/**
 * Returns the map entry that a controller looks up for a resource. `annotations` are the annotations of its namespace.
 * The id is the first of these that is set: the team of the namespace, the account of the namespace, the account in
 * which the resource exists. Returns null if the resource uses the controller's own role.
 */
export function mapEntryOf(
  annotations: StringMap, { status }: Pick<ResourceQuery, "status">, settings: DecisionSettings,
): MapEntry | null {
  const { key, value } = firstSet(annotations, choosingAnnotations(settings));
  // CARM looks up the account of a namespace even if the account is the controller's own account.
  const id = key === null ? foreignAccount(status.ownerAccountID, settings) : value;
  if (id === null) return null;
  const isTeam = key !== null && key !== OWNER_ACCOUNT_ANNOTATION;
  return isTeam ? { via: "team-map", map: TEAM_MAP, id } : { via: "account-map", map: ACCOUNT_MAP, id };
}

function foreignAccount(accountID: string | null, { controllerAccount }: DecisionSettings): string | null {
  return accountID === controllerAccount ? null : accountID;
}

/**
 * Looks up a map entry as a controller of `group` does. `data` is null if the ConfigMap does not exist. The shipped
 * controllers accept every ARN, but STS assumes only roles, so a value that is not the ARN of a role is no role.
 */
export function lookUpEntry(
  data: StringMap | null, group: string, entry: MapEntry, settings: DecisionSettings,
): MapLookup {
  const { id, map } = entry;
  const ofService = `${serviceOf(group)}.${id}`;
  const key = settings.serviceLevelCARM && (data?.get(ofService) ?? "") !== "" ? ofService : id;
  const configMap = `ConfigMap ${settings.ackSystemNamespace}/${map}`;
  const fail = (code: ErrorCode, message: string): MapLookup => ({ ...entry, key, roleARN: null, code, message });
  if (data === null) {
    return fail("ERR_CARM_MAP_MISSING", `${configMap} does not exist, so key ${quote(key)} has no role.`);
  }
  const roleARN = data.get(key);
  if (roleARN === undefined) return fail("ERR_CARM_KEY_MISSING", `${configMap} has no key ${quote(key)}.`);
  if (roleARN === "") return fail("ERR_CARM_VALUE_EMPTY", `${configMap} has no role for key ${quote(key)}.`);
  if (parseRoleARN(roleARN) !== null) return { ...entry, key, roleARN, code: null };
  return fail("ERR_CARM_ARN", notRoleMessage(roleARN, { key, configMap }));
}

/** Returns the message for a value that is not the ARN of a role. */
export function notRoleMessage(
  value: string, { key, configMap }: { readonly key: string; readonly configMap: string },
): string {
  return `The value ${quote(value)} of key ${quote(key)} in ${configMap} is not the ARN of an IAM role, `
    + "so controllers cannot assume it.";
}
