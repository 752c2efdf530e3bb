import { ACCOUNT_MAP, TEAM_MAP } from "../annotation-keys.ts";
import { lookUpIn, lookUpMaps, type MapEntry, serviceOf } from "../carm/maps.ts";
import type { Inventory } from "../inventory/inventory.ts";
import { SetIndex } from "../inventory/set-index.ts";
import { ACK_GROUPS } from "../kubernetes/ack-groups.ts";
import type { ResourceStatus } from "../kubernetes/ack-resource.ts";
import { parseRoleARN } from "../kubernetes/arn.ts";
import { printable, quote } from "../kubernetes/text.ts";
import { NO_EXTRAS } from "../selectors/session.ts";
import {
  type Answer, candidateGroups, commonGrant, denied, describeKinds, type Grant, type GrantScope, inNamespaceScope,
  type NamespaceQuery, type RoleQuery, unknownNamespace,
} from "./grant.ts";

type MapData = ReadonlyMap<string, string>;

/** What the maps give in a namespace, whatever the kind and the labels: only the service may decide. */
export function mapGrantInNamespace(inventory: Inventory, query: NamespaceQuery): Grant {
  return commonGrant(query.namespace, answersOf(inventory, query));
}

function* answersOf(inventory: Inventory, query: NamespaceQuery): Iterable<Answer> {
  for (const group of candidateGroups(query)) yield { what: group, grant: grantForGroup(inventory, group, query) };
}

/** Of a resource that is not in AWS yet nothing but its namespace tells the account. */
const NOWHERE_YET: ResourceStatus = { ownerAccountID: null, region: null };

function grantForGroup(inventory: Inventory, group: string, query: Pick<NamespaceQuery, "namespace" | "settings" | "unmatched">): Grant {
  const { namespace, settings } = query;
  const answer = lookUpMaps(inventory, { group, namespace, status: NOWHERE_YET }, settings);
  if (answer === null) return unmatched(query);
  if (answer.code !== null) return denied(answer.code, printable(answer.message));
  const map = answer.via === "team-map" ? TEAM_MAP : ACCOUNT_MAP;
  return roleOf(answer.roleARN, { map, key: answer.key, data: dataOf(inventory, map, query) }, query);
}

function dataOf(inventory: Inventory, map: string, { settings }: Pick<GrantScope, "settings">): MapData {
  return inventory.configMap(settings.ackSystemNamespace, map) ?? NO_DATA;
}

const NO_DATA: MapData = new Map();

function unmatched({ namespace, unmatched: instead }: Pick<NamespaceQuery, "namespace" | "unmatched">): Grant {
  if (instead === "base") return { verdict: "base" };
  return denied(
    "ERR_SELECTOR_UNMATCHED",
    `Namespace ${namespace} names no account or team for the maps of CARM, and the base identity is not given instead (--unmatched deny).`,
  );
}

interface Entry {
  readonly map: string;
  readonly key: string;
  readonly data: MapData;
}

/** Shipped controllers take whatever parses as an ARN; here only a role is ever granted. */
function roleOf(roleARN: string, { map, key, data }: Entry, { settings }: Pick<GrantScope, "settings">): Grant {
  if (parseRoleARN(roleARN) !== null) return { verdict: "role", roleARN, selectors: [], extras: NO_EXTRAS, grantedBy: data };
  return denied("ERR_CARM_ARN", `ConfigMap ${settings.ackSystemNamespace}/${map} has under the key ${quote(key)} no role's ARN but ${quote(roleARN)}. Correct the entry.`);
}

/** A role that a map gives to a controller of the groups for some namespace; in a scope, for that one. */
export function mapGrantOfRole(inventory: Inventory, roleARN: string, query: RoleQuery): Grant {
  return query.scope === null ? grantAnywhere(inventory, roleARN, query) : grantInScope(inventory, roleARN, query, query.scope);
}

function grantInScope(inventory: Inventory, roleARN: string, query: RoleQuery, scope: string): Grant {
  const unknown = unknownNamespace(inventory, scope);
  if (unknown !== null) return unknown;
  const grants = candidateGroups(query).map((group) => grantForGroup(inventory, group, { ...query, namespace: scope, unmatched: "base" }));
  const granted = grants.find((grant) => grant.verdict === "role" && grant.roleARN === roleARN);
  return granted ?? grants.find(({ verdict }) => verdict === "refused") ?? notGranted(roleARN, query);
}

function grantAnywhere(inventory: Inventory, roleARN: string, query: RoleQuery): Grant {
  for (const entry of entriesOf(inventory, roleARN, query)) {
    const isTold = parseRoleARN(roleARN) === null; // whoever may look it up
    if (isTold || candidateGroups(query).some((group) => finds(inventory, group, { roleARN, entry, settings: query.settings }))) return roleOf(roleARN, entry, query);
  }
  return notGranted(roleARN, query);
}

/** The entries with the role, in the maps that controllers read. */
function* entriesOf(inventory: Inventory, roleARN: string, { settings }: GrantScope): Iterable<Entry> {
  for (const map of settings.teamLevelCARM ? [ACCOUNT_MAP, TEAM_MAP] : [ACCOUNT_MAP]) {
    const data = dataOf(inventory, map, { settings });
    for (const key of keysByRole(data).get(roleARN)) yield { map, key, data };
  }
}

/** A map's data never changes: a changed map has other data. */
const KEYS_BY_ROLE = new WeakMap<MapData, SetIndex<string>>();

function keysByRole(data: MapData): SetIndex<string> {
  const known = KEYS_BY_ROLE.get(data);
  if (known !== undefined) return known;
  const keys = new SetIndex<string>();
  for (const [key, roleARN] of data) keys.add(roleARN, key);
  KEYS_BY_ROLE.set(data, keys);
  return keys;
}

interface Search extends Pick<GrantScope, "settings"> {
  readonly roleARN: string;
  readonly entry: Entry;
}

/** Whether a controller of the group finds the role by the entry: another one may stand before it, or it is another service's. */
function finds(inventory: Inventory, group: string, { roleARN, entry: { map, key, data }, settings }: Search): boolean {
  const named = settings.serviceLevelCARM ? keyWithoutService(inventory, key, group) : key;
  if (named === "") return false;
  const via: MapEntry["via"] = map === TEAM_MAP ? "team-map" : "account-map";
  return lookUpIn(data, group, { via, map, key: named }, settings).roleARN === roleARN;
}

/** The account or team that a namespace has to name for the entry to be looked up by a controller of `group`; "" where none does. */
function keyWithoutService(inventory: Inventory, key: string, group: string): string {
  const dot = key.indexOf(".");
  if (dot < 0) return key;
  const service = key.slice(0, dot);
  if (service === serviceOf(group)) return key.slice(dot + 1);
  return SERVICES.has(service) || inventory.groups.has(`${service}.services.k8s.aws`) ? "" : key;
}

const SERVICES: ReadonlySet<string> = new Set(ACK_GROUPS.map(serviceOf));

function notGranted(roleARN: string, query: RoleQuery): Grant {
  const { ackSystemNamespace, teamLevelCARM } = query.settings;
  const maps = teamLevelCARM ? `ConfigMaps ${ackSystemNamespace}/${ACCOUNT_MAP} and ${TEAM_MAP}` : `ConfigMap ${ackSystemNamespace}/${ACCOUNT_MAP}`;
  return denied(
    "ERR_SELECTOR_NOT_GRANTED",
    `No entry of ${maps} gives ${quote(roleARN)} to ${describeKinds(query)}${inNamespaceScope(query)}. Add one for the account or team that the role is for, or ask for another role.`,
  );
}
