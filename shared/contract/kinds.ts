import { ACCOUNT_MAP, TEAM_MAP } from "./annotation-keys.ts";
import { isPartKind } from "./cluster-parts.ts";
import { INFRASTRUCTURE_GROUP, isIdentityKind, type KindName, referrerKindOf } from "./capa-kinds.ts";
import {
  FIELD_EXPORT_KIND, isACKGroup, isCARMMapName, SELECTOR_GROUP, SELECTOR_KIND,
} from "./ack-groups.ts";
import {
  byACKController, byCAPA, byClusterAPI, byGarbageCollector, byNamespaceController, inSystemNamespace,
  ofNamespaceCleanup, type ReviewedRequest, type WarnContext, type WarnRule,
} from "./warn-rules.ts";

/** The type and the name of an object. */
export interface NamedKind extends KindName {
  readonly name: string;
}

/** How a source watches the objects of a kind in a cluster. */
interface Watch {
  /** The watched version; `served` stands for the version of the definition of the kind, once it is established. */
  readonly version: string;
  /** The resource name. A definition states the name of a kind whose version is `served`. */
  readonly plural?: string;
  /** The number of objects in one page of a list. */
  readonly pageSize: number;
  /** Whether the API server sends only the metadata of the objects, so that no value of a Secret is received. */
  readonly metadataOnly?: true;
  /** Each object of these names has its own watch, so that a source needs no rights to other objects of the type. */
  readonly names?: readonly string[];
  /** The parts of the cluster with which a source loads the kind. Default: every source loads it. */
  readonly parts?: readonly ClusterPart[];
}

/** A part of a cluster that not every source loads, because the rights to it are separate. */
export type ClusterPart = "resources" | "identities" | "fieldExports" | "carmMaps" | "secrets";

interface Kind {
  readonly id: string;
  /** The types of the kind as `KIND.GROUP`, or a function for types that no list can contain. */
  readonly types: readonly string[] | ((type: KindName) => boolean);
  /** Whether an object of this name is of the kind. Default: every object of the types. */
  readonly names?: (name: string) => boolean;
  /** The last part of the path of the webhook, such as `/validate/namespaces`. Null if the webhook reviews none. */
  readonly path: string | null;
  /** The writes for which the checks only warn, because a controller could not complete its work otherwise. */
  readonly warnsOnly: readonly WarnRule[];
  /** How a source watches the kind. Missing if no source does. */
  readonly watch?: Watch;
}

const DEFINITION = ["CustomResourceDefinition.apiextensions.k8s.io"];
const CLEANUP = [ofNamespaceCleanup, byGarbageCollector] as const;
const WORKLOADS = [
  "ReplicationController.", "Deployment.apps", "StatefulSet.apps", "DaemonSet.apps", "ReplicaSet.apps", "Job.batch",
  "CronJob.batch",
];
const PATH_OF_SELECTORS = "iamroleselectors";
const OF_CAPA = [byCAPA, ofNamespaceCleanup] as const;

/** client-go's page size. */
const PAGE = 500;
/** The page size for CustomResourceDefinitions, which are often 100 KB and can exceed 1 MB. */
const SMALL_PAGE = 50;
const OF_RESOURCES = { version: "served", pageSize: PAGE, parts: ["resources"] } as const;

/**
 * The kinds of objects that decisions read. A row holds facts; the checks, the stores and the steps of a review of each
 * kind are records whose keys are the ids, so that the compiler demands an entry for each row. An object is of the
 * first kind that matches.
 */
const ROWS = [
  {
    id: "selector", types: [`${SELECTOR_KIND}.${SELECTOR_GROUP}`], path: PATH_OF_SELECTORS, warnsOnly: [],
    watch: { version: "v1alpha1", plural: PATH_OF_SELECTORS, pageSize: PAGE },
  },
  {
    id: "field-export", types: [`${FIELD_EXPORT_KIND}.${SELECTOR_GROUP}`], path: "fieldexports", warnsOnly: [],
    watch: { ...OF_RESOURCES, parts: ["fieldExports"] },
  },
  {
    id: "namespace", types: ["Namespace."], path: "namespaces", warnsOnly: [inSystemNamespace, byNamespaceController],
    watch: { version: "v1", plural: "namespaces", pageSize: PAGE },
  },
  {
    id: "carm-map", types: ["ConfigMap."], names: isCARMMapName, path: "configmaps", warnsOnly: [ofNamespaceCleanup],
    watch: { version: "v1", plural: "configmaps", pageSize: PAGE, names: [ACCOUNT_MAP, TEAM_MAP], parts: ["carmMaps"] },
  },
  { id: "selector-definition", types: DEFINITION, names: isOfSelectors, path: PATH_OF_SELECTORS, warnsOnly: [] },
  { id: "resource-definition", types: DEFINITION, names: isOfACK, path: "resources", warnsOnly: [] },
  // The only watch of all definitions.
  {
    id: "other-definition", types: DEFINITION, path: null, warnsOnly: [],
    watch: { version: "v1", plural: "customresourcedefinitions", pageSize: SMALL_PAGE },
  },
  { id: "pod", types: ["Pod."], path: "pods", warnsOnly: [] },
  { id: "workload", types: WORKLOADS, path: null, warnsOnly: [] },
  {
    id: "secret", types: ["Secret."], path: null, warnsOnly: [],
    watch: { version: "v1", plural: "secrets", pageSize: PAGE, metadataOnly: true, parts: ["secrets"] },
  },
  {
    id: "identity", types: isIdentityKind, path: "identities", warnsOnly: OF_CAPA,
    watch: { ...OF_RESOURCES, parts: ["resources", "identities"] },
  },
  {
    id: "cluster", types: (type) => referrerKindOf(type) !== null, path: "clusters", warnsOnly: [byCAPA, ...CLEANUP],
    watch: OF_RESOURCES,
  },
  { id: "cluster-part", types: isPartKind, path: "clusters", warnsOnly: [byCAPA, byClusterAPI, ...CLEANUP] },
  { id: "selector-like", types: isSelectorLike, path: null, warnsOnly: [] },
  {
    id: "resource", types: isOfService, path: "resources", warnsOnly: [byACKController, ...CLEANUP],
    watch: OF_RESOURCES,
  },
  { id: "identity-like", types: isIdentityLike, path: "identities", warnsOnly: OF_CAPA },
] as const satisfies readonly Kind[];

export type KindID = (typeof ROWS)[number]["id"];
export type KindRow = Kind & { readonly id: KindID };
export const KINDS: readonly KindRow[] = ROWS;

/** The ids of the kinds that a source watches. */
export type WatchedID = Extract<(typeof ROWS)[number], { readonly watch: Watch }>["id"];
export type WatchedRow = Kind & { readonly id: WatchedID; readonly watch: Watch };
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
  const kinds = ofType(type).filter((kind) => kind.path === path);
  return kinds.find(({ names }) => type.name === null || names?.(type.name) !== false) ?? null;
}

/** Returns whether the checks only warn about a write of an object of the kind. */
export function warnsOnly({ warnsOnly: rules }: KindRow, request: ReviewedRequest, context: WarnContext): boolean {
  return rules.some((applies) => applies(request, context));
}

const BY_TYPE = Map.groupBy(
  KINDS.flatMap((kind) => (typeof kind.types === "function" ? [] : kind.types.map((type) => ({ type, kind })))),
  ({ type }) => type,
);
const MATCHED = KINDS.flatMap((kind) => (typeof kind.types === "function" ? [{ kind, matches: kind.types }] : []));

/** Returns the kinds of the type. A type in a list is of no kind that has a function. */
function ofType(type: KindName): readonly KindRow[] {
  const listed = BY_TYPE.get(`${type.kind}.${type.group}`);
  return (listed ?? MATCHED.filter(({ matches }) => matches(type))).map(({ kind }) => kind);
}

function isOfService({ group }: KindName): boolean {
  return isACKGroup(group);
}

function isOfSelectors(name: string): boolean {
  return name === `iamroleselectors.${SELECTOR_GROUP}`;
}

/** Whether a definition, whose name is `PLURAL.GROUP`, defines an ACK resource. */
function isOfACK(name: string): boolean {
  return isACKGroup(name.slice(name.indexOf(".") + 1));
}

/** Whether the kind is another spelling of IAMRoleSelector such as IamRoleSelectors, or that kind in another group. */
function isSelectorLike({ kind }: KindName): boolean {
  return /^iam[-_]?role[-_]?selectors?$/i.test(kind);
}

/** Whether the kind is in the group of the identities and ends in Identity, but no identity has this kind. */
function isIdentityLike({ group, kind }: KindName): boolean {
  return group === INFRASTRUCTURE_GROUP && /^AWS\w*Identity$/i.test(kind);
}
