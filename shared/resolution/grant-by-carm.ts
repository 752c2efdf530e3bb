import { ACCOUNT_MAP, TEAM_MAP } from "../contract/annotation-keys.ts";
import { lookUpEntry, lookUpMaps, type MapEntry } from "../model/carm-maps.ts";
import { serviceOf } from "../contract/ack-groups.ts";
import type { Inventory } from "../inventory/inventory.ts";
import type { ResourceStatus } from "../contract/ack-resource.ts";
import { parseRoleARN } from "../formats/arn.ts";
import { quote } from "../formats/text.ts";
import { NO_EXTRAS } from "../model/session.ts";
import {
  type Candidate, candidateGroups, commonGrant, deny, describeKinds, type Grant, type GrantScope, type NamespaceQuery,
  type RoleQuery, scopeSuffix, unknownNamespace,
} from "./grant.ts";

/**
 * Grants the role that the CARM maps specify for a namespace. With CARM, the role of a resource can depend on its
 * service, but not on its kind or its labels.
 */
export function mapGrantInNamespace(inventory: Inventory, query: NamespaceQuery): Grant {
  return commonGrant(query.namespace, candidatesOf(inventory, query));
}

function* candidatesOf(inventory: Inventory, query: NamespaceQuery): Iterable<Candidate> {
  for (const group of candidateGroups(query)) yield { name: group, grant: grantForGroup(inventory, group, query) };
}

/**
 * The status of a resource that does not exist in AWS yet. The account of a resource without a status depends only on
 * the namespace.
 */
const NO_STATUS: ResourceStatus = { ownerAccountID: null, region: null };

function grantForGroup(
  inventory: Inventory, group: string, query: Pick<NamespaceQuery, "namespace" | "settings" | "unmatched">,
): Grant {
  const { namespace, settings } = query;
  const lookup = lookUpMaps(inventory, { group, namespace, status: NO_STATUS }, settings);
  if (lookup === null) return unmatched(query);
  if (lookup.code !== null) return deny(lookup.code, lookup.message);
  const map = lookup.via === "team-map" ? TEAM_MAP : ACCOUNT_MAP;
  const entry = { map, key: lookup.key, data: dataOf(inventory, map, query) };
  return readsOtherService(entry, group, settings) ? otherService(entry, group, settings) : (
    grantEntry(lookup.roleARN, entry, query)
  );
}

/**
 * Whether a controller of the group reads a key `SERVICE.ID` only because a namespace annotation names the whole key as
 * its account or team. With ServiceLevelCARM, such a key is intended only for the controllers of SERVICE, but ACK does
 * not enforce this.
 */
function readsOtherService(
  { key, data }: Entry, group: string, { serviceLevelCARM }: GrantScope["settings"],
): boolean {
  return serviceLevelCARM && key.includes(".") && (data.get(`${serviceOf(group)}.${key}`) ?? "") === "";
}

function otherService({ map, key }: Entry, group: string, { ackSystemNamespace }: GrantScope["settings"]): Grant {
  return deny(
    "ERR_SELECTOR_NOT_GRANTED",
    `With --service-level-carm, key ${quote(key)} in ConfigMap ${ackSystemNamespace}/${map} grants its role only to `
      + `the service before the dot. Add the key ${quote(`${serviceOf(group)}.${key}`)}, or use an id without a dot.`,
  );
}

function dataOf(inventory: Inventory, map: string, { settings }: Pick<GrantScope, "settings">): Entry["data"] {
  return inventory.carmMaps.data(settings.ackSystemNamespace, map) ?? NO_DATA;
}

const NO_DATA: Entry["data"] = new Map();

function unmatched({ namespace, unmatched: result }: Pick<NamespaceQuery, "namespace" | "unmatched">): Grant {
  if (result === "base") return { verdict: "base" };
  return deny(
    "ERR_SELECTOR_UNMATCHED",
    `Namespace ${namespace} names no account or team for the CARM maps, and the sidecar runs with --unmatched deny.`,
  );
}

interface Entry {
  readonly map: string;
  readonly key: string;
  readonly data: ReadonlyMap<string, string>;
}

/** Grants the value of a map entry if the value is the ARN of an IAM role. The shipped controllers accept any ARN. */
function grantEntry(roleARN: string, { map, key, data }: Entry, { settings }: Pick<GrantScope, "settings">): Grant {
  if (parseRoleARN(roleARN) !== null) {
    return { verdict: "role", roleARN, selectors: [], extras: NO_EXTRAS, grantedBy: data };
  }
  const value = `The value ${quote(roleARN)} of key ${quote(key)} in ConfigMap ${settings.ackSystemNamespace}/${map}`;
  return deny("ERR_CARM_ARN", `${value} is not the ARN of an IAM role. Correct the value.`);
}

/**
 * Grants a role if the CARM maps specify the role for an existing namespace and one of the groups. If the query has a
 * scope, this must be the namespace of the scope.
 */
export function mapGrantOfRole(inventory: Inventory, roleARN: string, query: RoleQuery): Grant {
  return query.scope === null
    ? grantAnywhere(inventory, roleARN, query)
    : grantInScope(inventory, roleARN, query, query.scope);
}

function grantInScope(inventory: Inventory, roleARN: string, query: RoleQuery, scope: string): Grant {
  const unknown = unknownNamespace(inventory, scope);
  if (unknown !== null) return unknown;
  const inNamespace = { ...query, namespace: scope, unmatched: "base" } as const;
  const grants = candidateGroups(query).map((group) => grantForGroup(inventory, group, inNamespace));
  const granted = grants.find((grant) => grant.verdict === "role" && grant.roleARN === roleARN);
  return granted ?? grants.find(({ verdict }) => verdict === "denied") ?? notGranted(roleARN, query);
}

function grantAnywhere(inventory: Inventory, roleARN: string, query: RoleQuery): Grant {
  const isRole = parseRoleARN(roleARN) !== null;
  let unused: Entry | null = null;
  for (const entry of entriesOf(inventory, roleARN, query)) {
    const search = { inventory, roleARN, entry, settings: query.settings };
    const groups = candidateGroups(query).filter((group) => isReachable(group, search));
    // Reports a value that is not a role ARN, even if no controller of the requested groups reads the value.
    const isReported = !isRole || groups.some((group) => isNamed(group, search));
    if (isReported) return grantEntry(roleARN, entry, query);
    if (groups.length > 0) unused ??= entry;
  }
  return unused === null ? notGranted(roleARN, query) : notNamed(roleARN, unused, query);
}

/** Denies a role whose entry no namespace uses. */
function notNamed(roleARN: string, { map, key }: Entry, { settings }: Pick<RoleQuery, "settings">): Grant {
  return deny(
    "ERR_SELECTOR_NOT_GRANTED",
    `Key ${quote(key)} of ConfigMap ${settings.ackSystemNamespace}/${map} grants ${quote(roleARN)}, but no existing `
      + "namespace names its account or team. If a namespace is new, retry in a moment; otherwise, annotate it.",
  );
}

/** Returns the entries whose value is `roleARN`, from the maps that controllers read. */
function* entriesOf(inventory: Inventory, roleARN: string, { settings }: GrantScope): Iterable<Entry> {
  for (const map of settings.teamLevelCARM ? [ACCOUNT_MAP, TEAM_MAP] : [ACCOUNT_MAP]) {
    const data = dataOf(inventory, map, { settings });
    for (const key of inventory.carmMaps.keysOf(settings.ackSystemNamespace, map, roleARN)) yield { map, key, data };
  }
}

interface Search extends Pick<GrantScope, "settings"> {
  readonly inventory: Inventory;
  readonly roleARN: string;
  readonly entry: Entry;
}

/**
 * Whether a controller of the group can read the entry. A controller can read an entry if no other entry takes
 * precedence over the entry, and the entry is not specific to another service.
 */
function isReachable(group: string, { roleARN, entry, settings }: Search): boolean {
  const { map, key, data } = entry;
  const owner = settings.serviceLevelCARM ? ownerOf(key, group) : key;
  if (owner === "") return false;
  const via: MapEntry["via"] = map === TEAM_MAP ? "team-map" : "account-map";
  return lookUpEntry(data, group, { via, map, key: owner }, settings).roleARN === roleARN;
}

/**
 * Whether an existing namespace names the account or team for which a controller of the group reads the entry. The
 * sidecar does not read the status of resources, which can name an account too.
 */
function isNamed(group: string, { inventory: { namespaces }, entry: { map, key }, settings }: Search): boolean {
  const owner = settings.serviceLevelCARM ? ownerOf(key, group) : key;
  if (map === TEAM_MAP) return namespaces.hasTeam(owner);
  return namespaces.hasAccount(owner, { withoutTeam: settings.teamLevelCARM });
}

/**
 * Returns the account or team for which a controller of `group` reads the key. Returns "" if the key starts with
 * another service, such as `rds.team-a`. The other service may be unknown, because it may be newer than this release.
 */
function ownerOf(key: string, group: string): string {
  const dot = key.indexOf(".");
  if (dot < 0) return key;
  return key.slice(0, dot) === serviceOf(group) ? key.slice(dot + 1) : "";
}

function notGranted(roleARN: string, query: RoleQuery): Grant {
  const { ackSystemNamespace, teamLevelCARM } = query.settings;
  const accountMap = `${ackSystemNamespace}/${ACCOUNT_MAP}`;
  const maps = teamLevelCARM ? `ConfigMaps ${accountMap} and ${TEAM_MAP}` : `ConfigMap ${accountMap}`;
  return deny(
    "ERR_SELECTOR_NOT_GRANTED",
    `No entry of ${maps} grants ${quote(roleARN)} to ${describeKinds(query)}${scopeSuffix(query)}. `
      + "Add an entry for the account or team that uses the role, or request another role.",
  );
}
