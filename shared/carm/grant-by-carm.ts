import { CARM_MAPS } from "./map-store.ts";
import { ACCOUNT_MAP, TEAM_MAP } from "../core/annotation-keys.ts";
import type { Granter, Inventory } from "../core/inventory.ts";
import { notRoleMessage } from "./carm-maps.ts";
import type { RoleOwner } from "../core/role-target.ts";
import { parseRoleARN } from "../formats/arn.ts";
import { quote } from "../formats/text.ts";
import { NO_EXTRAS } from "../core/session.ts";
import { dataOf, entriesOf, isNamedFor, type RoleEntry } from "./carm-entries.ts";
import { mapRoleOf, NO_STATUS } from "./carm-role.ts";
import {
  type Candidate, candidateGroups, commonGrant, deny, describeKinds, type Grant, type NamespaceQuery, type RoleQuery,
  scopeSuffix, unknownNamespace,
} from "../core/grant.ts";

/**
 * Grants the role that the CARM maps specify for a namespace. With CARM, the role of a resource can depend on its
 * service, but not on its kind or its labels.
 */
function mapGrantInNamespace(inventory: Inventory, query: NamespaceQuery): Grant {
  return commonGrant(query.namespace, candidatesOf(inventory, query));
}

function* candidatesOf(inventory: Inventory, query: NamespaceQuery): Iterable<Candidate> {
  for (const group of candidateGroups(query)) yield { name: group, grant: grantForGroup(inventory, group, query) };
}

function grantForGroup(
  inventory: Inventory, group: string, query: Pick<NamespaceQuery, "namespace" | "settings" | "unmatched">,
): Grant {
  const { namespace, settings } = query;
  const lookup = mapRoleOf(inventory, { group, namespace, status: NO_STATUS }, settings);
  if (lookup === null) return unmatched(query);
  if (lookup.code !== null) return deny(lookup.code, lookup.message);
  return grantOf(lookup.roleARN, dataOf(inventory.of(CARM_MAPS), settings.ackSystemNamespace, lookup.map));
}

/** How texts name a CARM map. Each session of its roles has the default duration. */
export const MAP_OWNER: RoleOwner = {
  noun: "CARM map", roleField: "the CARM map", durationField: "the annotation duration-seconds", caller: "the sidecar",
};

function grantOf(roleARN: string, data: RoleEntry["data"]): Grant {
  return { verdict: "role", roleARN, selectors: [], extras: NO_EXTRAS, owner: MAP_OWNER, grantedBy: data };
}

function unmatched({ namespace, unmatched: result }: Pick<NamespaceQuery, "namespace" | "unmatched">): Grant {
  if (result === "base") return { verdict: "base" };
  return deny(
    "ERR_SELECTOR_UNMATCHED",
    `Namespace ${namespace} names no account or team for the CARM maps, and the sidecar runs with --unmatched deny.`,
  );
}

/**
 * Grants a role if the CARM maps specify the role for an existing namespace and one of the groups. If the query has a
 * scope, this must be the namespace of the scope.
 */
function mapGrantOfRole(inventory: Inventory, roleARN: string, query: RoleQuery): Grant {
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
  const { settings } = query;
  const isRole = parseRoleARN(roleARN) !== null;
  let unused: RoleEntry | null = null;
  for (const entry of entriesOf(inventory, roleARN, settings)) {
    // Reports a value that is not a role ARN, even if no controller of the requested groups reads the value.
    if (!isRole) return notRole(roleARN, entry, query);
    const named = new Set(candidateGroups(query).map((group) => isNamedFor(group, entry, inventory, settings)));
    if (named.has(true)) return grantOf(roleARN, entry.data);
    if (named.has(false)) unused ??= entry;
  }
  return unused === null ? notGranted(roleARN, query) : notNamed(roleARN, unused, query);
}

function notRole(value: string, { map, key }: RoleEntry, { settings }: Pick<RoleQuery, "settings">): Grant {
  const configMap = `ConfigMap ${settings.ackSystemNamespace}/${map}`;
  return deny("ERR_CARM_ARN", notRoleMessage(value, { key, configMap }));
}

/** Denies a role whose entry no namespace uses. */
function notNamed(roleARN: string, { map, key }: RoleEntry, { settings }: Pick<RoleQuery, "settings">): Grant {
  return deny(
    "ERR_SELECTOR_NOT_GRANTED",
    `Key ${quote(key)} of ConfigMap ${settings.ackSystemNamespace}/${map} grants ${quote(roleARN)}, but no existing `
      + "namespace names its account or team. If a namespace is new, retry in a moment; otherwise, annotate it.",
  );
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

const NO_SELECTORS = deny(
  "ERR_SELECTOR_NOT_GRANTED",
  "With --mode carm, only the CARM ConfigMaps grant roles, not IAMRoleSelectors. "
    + "Request the credentials of a namespace, or run the controllers and the sidecar with --mode selectors.",
);

/** Grants the roles of the CARM maps. */
export const MAP_GRANTS: Granter = {
  mode: "carm", inNamespace: mapGrantInNamespace, ofSelector: () => NO_SELECTORS, ofRole: mapGrantOfRole,
};
