import { SELECTOR_ROLES } from "./ack/resolve.ts";
import { IDENTITY_ROLES } from "./capa/resolve-identity.ts";
import { MAP_ROLES } from "./carm/resolve.ts";
import type { KnownKinds } from "./core/inventory.ts";
import { RESOURCES } from "./ack/resources.ts";
import { SELECTORS } from "./ack/selectors.ts";
import { IDENTITIES } from "./capa/identities.ts";
import { IDENTITY_ACCOUNTS_STORE } from "./capa/identity-accounts.ts";
import { REFERRERS } from "./capa/referrers.ts";
import { SECRETS } from "./capa/secrets.ts";
import { CARM_MAPS } from "./carm/map-store.ts";
import { KINDS_OF_CLUSTER } from "./core/kind-store.ts";
import { NAMESPACES } from "./core/namespaces.ts";
import { ACCOUNT_MAP, TEAM_MAP } from "./core/annotation-keys.ts";
import { isPartKind, PART_KINDS } from "./core/cluster-parts.ts";
import {
  IDENTITY_KINDS, identityPlural, INFRASTRUCTURE_GROUP, isIdentityKind, isLikeCAPAKind, type KindName, pluralsByGroup,
  REFERRER_KINDS, referrerKindOf,
} from "./core/capa-kinds.ts";
import {
  ADOPTED_RESOURCE_KIND, FIELD_EXPORT_KIND, isACKGroup, isCARMMapName, isLikeResource, isLikeSelector, SELECTOR_GROUP,
  SELECTOR_KIND,
} from "./core/ack-groups.ts";
import {
  byACKController, byCAPA, byClusterAPI, byGarbageCollector, byNamespaceController, inSystemNamespace,
  ofNamespaceCleanup, type ReviewedRequest, type WarnContext,
} from "./core/exemptions.ts";
import { IDENTITY_ACCOUNTS } from "./core/installation.ts";
import { SIZE_CHECKS } from "./core/limits.ts";
import type { Kind, NamedKind, Served, Watch } from "./core/kind-row.ts";

const DEFINITION = ["CustomResourceDefinition.apiextensions.k8s.io"];
const CLEANUP = [ofNamespaceCleanup, byGarbageCollector] as const;
const WORKLOADS = [
  "ReplicationController.", "Deployment.apps", "StatefulSet.apps", "DaemonSet.apps", "ReplicaSet.apps", "Job.batch",
  "CronJob.batch",
];
const PATH_OF_SELECTORS = "iamroleselectors";
const OF_CAPA = [byCAPA, ofNamespaceCleanup] as const;

const CREATE_AND_UPDATE = ["CREATE", "UPDATE"] as const;
const EVERY_WRITE = [...CREATE_AND_UPDATE, "DELETE"] as const;
/** The API server lets a client change annotations, such as a waiver, through the status of some kinds. */
const STATUS = ["status"] as const;
/** Reviews of kinds whose faults lose roles or credentials. A deletion that already runs is not reviewed again. */
const CLOSED = {
  whenDown: "Fail", subresources: STATUS, conditions: ["not-being-deleted", "changes-more-than-bookkeeping"],
} as const;
const OPEN = { whenDown: "Ignore", subresources: STATUS } as const;
const OF_DEFINITIONS = { name: "definition", operations: EVERY_WRITE, subresources: STATUS } as const;
/** Writes that only AC-05 reviews. */
const USE = {
  name: "use", whenDown: "Ignore", conditions: ["not-deleted-again", "changes-more-than-bookkeeping"],
} as const;
/**
 * Updates cannot change the containers of a Pod. The Pods of Kubernetes, and those of the webhook itself, must start
 * while the webhook is down.
 */
const OF_PODS = {
  operations: ["CREATE"], whenDown: "Fail", namespaces: "others", conditions: ["not-a-mirror-pod"],
} as const;

/** The verbs of an inventory, which never reads one object. */
const LIST = ["list", "watch"] as const;
const READ = ["get", ...LIST] as const;
/** The verb `deletecollection` is missing: one request could delete every selector. */
const WRITE = ["create", "update", "patch", "delete"] as const;

/** client-go's page size. */
const PAGE = 500;
/** The page size for CustomResourceDefinitions, which are often 100 KB and can exceed 1 MB. */
const SMALL_PAGE = 50;

/** The group that stands for each group of ACK resources. No rule can match the suffix of a group. */
export const ALL_SERVICES = `*.${SELECTOR_GROUP}`;
const DEFINITIONS = {
  groups: [{ group: "apiextensions.k8s.io", plurals: ["customresourcedefinitions"] }], version: "v1", scope: "Cluster",
} as const;

/** Returns how the API server names a kind without a group, such as the Namespace. */
function core(plural: string, scope: Served["scope"]): Served {
  return { groups: [{ group: "", plurals: [plural] }], version: "v1", scope };
}

/**
 * The kinds of objects that decisions read. A row holds facts; the checks and the steps of a review of each kind are
 * records whose keys are the ids, so that the compiler demands an entry for each row. The webhook configurations, the
 * policies, the roles and the limit checks follow from the rows. An object is of the first kind that matches.
 */
const ROWS = [
  {
    id: "selector", types: [`${SELECTOR_KIND}.${SELECTOR_GROUP}`], path: PATH_OF_SELECTORS, warnsOnly: [],
    served: {
      groups: [{ group: SELECTOR_GROUP, plurals: [PATH_OF_SELECTORS] }], version: "v1alpha1", scope: "Cluster",
    },
    reviews: [
      { mutates: true, operations: CREATE_AND_UPDATE, whenDown: "Fail", conditions: ["not-being-deleted"] },
      { ...CLOSED, operations: EVERY_WRITE, records: true },
    ],
    watch: { pageSize: PAGE }, rights: { reader: READ, "selector-owner": [...READ, ...WRITE], tenant: READ },
    limit: { code: "IRS-48" }, store: SELECTORS,
  },
  {
    id: "selector-definition", types: DEFINITION, names: (name) => name === `iamroleselectors.${SELECTOR_GROUP}`,
    path: PATH_OF_SELECTORS, warnsOnly: [],
    served: DEFINITIONS, store: KINDS_OF_CLUSTER,
    limit: { code: "WAIVER-01", deletion: "IRS-34", fix: SIZE_CHECKS.resource.fix },
    reviews: [{
      ...OF_DEFINITIONS, whenDown: "Fail", records: true,
      conditions: ["not-being-deleted", "is-definition-of-selectors", "deletes-or-waives"],
    }],
  },
  { id: "selector-like", types: isLikeSelector, path: null, warnsOnly: [] },
  { id: "resource-like", types: isLikeResource, path: null, warnsOnly: [] },
  {
    id: "resource", types: ({ group }) => isACKGroup(group), path: "resources",
    warnsOnly: [byACKController, ...CLEANUP],
    // New releases of controllers add kinds. The plural `*` does not include subresources.
    served: { groups: [{ group: ALL_SERVICES, plurals: ["*"] }], version: "*", scope: "Namespaced" },
    reviews: [
      { mutates: true, operations: CREATE_AND_UPDATE, whenDown: "Ignore", conditions: ["mutates"] },
      { ...OPEN, operations: EVERY_WRITE, conditions: ["not-deleted-again", "changes-more-than-bookkeeping"] },
    ],
    watch: { pageSize: PAGE, parts: ["resources"] }, rights: { resources: LIST, reconciler: ["patch"] },
    limit: SIZE_CHECKS.resource, store: RESOURCES,
  },
  {
    // The name of a definition is PLURAL.GROUP.
    id: "resource-definition", types: DEFINITION, names: (name) => isACKGroup(name.slice(name.indexOf(".") + 1)),
    path: "resources", warnsOnly: [],
    served: DEFINITIONS, store: KINDS_OF_CLUSTER,
    limit: { code: "WAIVER-01", deletion: "ACK-34", fix: SIZE_CHECKS.resource.fix },
    reviews: [{
      ...OF_DEFINITIONS, whenDown: "Ignore",
      conditions: ["not-deleted-again", "is-definition-of-resources", "deletes-or-waives"],
    }],
  },
  {
    id: "namespace", types: ["Namespace."], path: "namespaces", warnsOnly: [inSystemNamespace, byNamespaceController],
    served: core("namespaces", "Cluster"),
    reviews: [{
      operations: EVERY_WRITE, subresources: ["status", "finalize"], whenDown: "Ignore", namespaces: "unprotected",
      conditions: ["not-deleted-again", "changes-namespace"],
    }],
    watch: { pageSize: PAGE }, rights: { reader: READ },
    limit: SIZE_CHECKS.namespace, store: NAMESPACES,
  },
  // The only watch of all definitions.
  {
    id: "other-definition", types: DEFINITION, path: null, warnsOnly: [], served: DEFINITIONS,
    watch: { pageSize: SMALL_PAGE }, rights: { reader: LIST }, store: KINDS_OF_CLUSTER,
  },
  {
    id: "carm-map", types: ["ConfigMap."], names: isCARMMapName, path: "configmaps", warnsOnly: [ofNamespaceCleanup],
    served: core("configmaps", "Namespaced"),
    reviews: [{
      operations: EVERY_WRITE, whenDown: "Fail", namespaces: "ack-system",
      conditions: ["is-carm-map", "changes-more-than-bookkeeping"],
    }],
    watch: { pageSize: PAGE, names: [ACCOUNT_MAP, TEAM_MAP], parts: ["carmMaps"] }, rights: { "carm-maps": LIST },
    limit: SIZE_CHECKS["carm-map"], store: CARM_MAPS,
  },
  {
    id: "field-export", types: [`${FIELD_EXPORT_KIND}.${SELECTOR_GROUP}`], path: "fieldexports", warnsOnly: [],
    // A controller acts on each version within seconds. No check applies to a deletion.
    served: {
      groups: [{ group: SELECTOR_GROUP, plurals: ["fieldexports"] }], version: "*", scope: "Namespaced",
    },
    reviews: [{ ...CLOSED, operations: CREATE_AND_UPDATE }],
    watch: { pageSize: PAGE, parts: ["fieldExports"] },
    limit: SIZE_CHECKS["field-export"],
  },
  {
    id: "adopted-resource", types: [`${ADOPTED_RESOURCE_KIND}.${SELECTOR_GROUP}`], path: "adoptedresources",
    warnsOnly: [],
    // Runtime 0.62 removed the kind. A rule for a kind that the cluster does not have matches nothing.
    served: {
      groups: [{ group: SELECTOR_GROUP, plurals: ["adoptedresources"] }], version: "*", scope: "Namespaced",
    },
    reviews: [{ ...CLOSED, operations: CREATE_AND_UPDATE }],
    watch: { pageSize: PAGE, parts: ["fieldExports"] },
    limit: SIZE_CHECKS.resource,
  },
  {
    id: "identity", types: isIdentityKind, path: "identities", warnsOnly: OF_CAPA,
    served: {
      groups: [{ group: INFRASTRUCTURE_GROUP, plurals: IDENTITY_KINDS.map(identityPlural).toSorted() }],
      version: "*", scope: "*",
    },
    reviews: [{ ...CLOSED, operations: EVERY_WRITE, records: true }],
    watch: { pageSize: PAGE, parts: ["resources", "identities"] },
    rights: {
      resources: LIST, identities: LIST, "identity-owner": [...READ, ...WRITE], "identity-user": ["use"],
    },
    limit: SIZE_CHECKS.identity, store: IDENTITIES,
  },
  {
    id: "cluster", types: (type) => referrerKindOf(type) !== null, path: "clusters", warnsOnly: [byCAPA, ...CLEANUP],
    served: { groups: pluralsByGroup(REFERRER_KINDS), version: "*", scope: "Namespaced" },
    reviews: [
      { mutates: true, operations: CREATE_AND_UPDATE, whenDown: "Ignore", conditions: ["mutates-cluster"] },
      { ...OPEN, operations: CREATE_AND_UPDATE, conditions: ["changes-more-than-bookkeeping"] },
      { ...USE, operations: ["DELETE"] },
    ],
    watch: { pageSize: PAGE, parts: ["resources"] },
    rights: { resources: LIST, reconciler: ["patch"], "identity-tenant": [...READ, ...WRITE] },
    limit: SIZE_CHECKS.cluster, store: REFERRERS,
  },
  {
    id: "cluster-part", types: isPartKind, path: "clusters", warnsOnly: [byCAPA, byClusterAPI, ...CLEANUP],
    served: { groups: pluralsByGroup(PART_KINDS), version: "*", scope: "Namespaced" },
    reviews: [{ ...USE, operations: EVERY_WRITE }], limit: SIZE_CHECKS.cluster,
    rights: { "identity-tenant": [...READ, ...WRITE] },
  },
  { id: "identity-like", types: isLikeCAPAKind, path: "identities", warnsOnly: OF_CAPA },
  {
    id: "pod", types: ["Pod."], path: "pods", warnsOnly: [], served: core("pods", "Namespaced"),
    reviews: [{ ...OF_PODS, mutates: true }, OF_PODS],
    limit: SIZE_CHECKS.pod,
  },
  { id: "workload", types: WORKLOADS, path: null, warnsOnly: [] },
  {
    id: "secret", types: ["Secret."], path: null, warnsOnly: [], served: core("secrets", "Namespaced"),
    watch: { pageSize: PAGE, metadataOnly: true, parts: ["secrets"] },
    // RBAC cannot limit the right to list Secrets to their metadata.
    rights: { "identity-secrets": READ, "webhook-identity-secrets": LIST }, store: SECRETS,
  },
  {
    id: "identity-accounts", types: ["ConfigMap."], names: (name) => name === IDENTITY_ACCOUNTS, path: null,
    warnsOnly: [], served: core("configmaps", "Namespaced"),
    watch: { pageSize: PAGE, names: [IDENTITY_ACCOUNTS], parts: ["identityAccounts"] },
    rights: { "identity-secrets": ["patch"], "webhook-identity-secrets": LIST }, store: IDENTITY_ACCOUNTS_STORE,
  },
] as const satisfies readonly Kind[];

export type KindID = (typeof ROWS)[number]["id"];
export type KindRow = Kind & { readonly id: KindID };
export const KINDS: readonly KindRow[] = ROWS;

/** The ids of the kinds that a source watches. */
export type WatchedID = Extract<(typeof ROWS)[number], { readonly watch: Watch }>["id"];
type WatchedRow = Kind & { readonly id: WatchedID; readonly served: Served; readonly watch: Watch };
export const WATCHED_ROWS: readonly WatchedRow[] = ROWS.filter((row) => "watch" in row);

/** Returns the kind of an object, or null if no decision reads such objects. */
export function kindOf(type: NamedKind): KindRow | null {
  return ofType(type).find(({ names }) => names?.(type.name) !== false) ?? null;
}

/**
 * Returns the kind that the webhook reviews at the path, or null if it reviews no such object there. The name is null
 * if it is unknown, and then any name is possible.
 */
export function reviewedKind(path: string, type: KindName & { readonly name: string | null }): KindRow | null {
  const listed = listedOf(type);
  const isOfType = ({ matches, kind }: Matcher): boolean => listed?.includes(kind) ?? matches?.(type) === true;
  return BY_PATH.get(path)?.find((matcher) => (
    isOfType(matcher) && (type.name === null || matcher.kind.names?.(type.name) !== false)
  ))?.kind ?? null;
}

/** Returns whether the checks only warn about a write of an object of the kind. */
export function warnsOnly({ warnsOnly: rules }: KindRow, request: ReviewedRequest, context: WarnContext): boolean {
  return rules.some((applies) => applies(request, context));
}

interface Matcher {
  readonly kind: KindRow;
  /** Null if the kind lists its types. */
  readonly matches: ((type: KindName) => boolean) | null;
}

const MATCHERS: readonly Matcher[] = KINDS.map((kind) => (
  { kind, matches: typeof kind.types === "function" ? kind.types : null }
));
const BY_PATH = Map.groupBy(MATCHERS, ({ kind }) => kind.path);
/**
 * The kinds of each listed type, by kind and group: each review reads them, and a text of both would be made each time.
 * A type in a list is of no kind that has a function.
 */
const LISTED: ReadonlyMap<string, ReadonlyMap<string, readonly KindRow[]>> = listedKinds();

function listedKinds(): Map<string, Map<string, KindRow[]>> {
  const listed = new Map<string, Map<string, KindRow[]>>();
  for (const row of KINDS) {
    if (typeof row.types === "function") continue;
    for (const type of row.types) {
      const [kind = "", ...group] = type.split(".");
      const byGroup = listed.get(kind) ?? new Map<string, KindRow[]>();
      listed.set(kind, byGroup);
      byGroup.set(group.join("."), [...byGroup.get(group.join(".")) ?? [], row]);
    }
  }
  return listed;
}

/** Returns the kinds that list the type; undefined if none does. */
function listedOf({ kind, group }: KindName): readonly KindRow[] | undefined {
  return LISTED.get(kind)?.get(group);
}

/** Returns the kinds of the type. */
function ofType(type: KindName): readonly KindRow[] {
  return listedOf(type) ?? MATCHERS.filter(({ matches }) => matches?.(type) === true).map(({ kind }) => kind);
}

/** What an inventory knows of the kinds. The first source of roles that serves an object decides its role. */
export const INVENTORY_KINDS: KnownKinds = { kindOf, roleSources: [IDENTITY_ROLES, SELECTOR_ROLES, MAP_ROLES] };
