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
}

const DEFINITION = ["CustomResourceDefinition.apiextensions.k8s.io"];
const CLEANUP = [ofNamespaceCleanup, byGarbageCollector] as const;
const WORKLOADS = [
  "ReplicationController.", "Deployment.apps", "StatefulSet.apps", "DaemonSet.apps", "ReplicaSet.apps", "Job.batch",
  "CronJob.batch",
];
const PATH_OF_SELECTORS = "iamroleselectors";
const OF_CAPA = [byCAPA, ofNamespaceCleanup] as const;

/**
 * The kinds of objects that decisions read. A row holds facts; the checks, the stores and the steps of a review of each
 * kind are records whose keys are the ids, so that the compiler demands an entry for each row. An object is of the
 * first kind that matches.
 */
const ROWS = [
  { id: "selector", types: [`${SELECTOR_KIND}.${SELECTOR_GROUP}`], path: PATH_OF_SELECTORS, warnsOnly: [] },
  { id: "field-export", types: [`${FIELD_EXPORT_KIND}.${SELECTOR_GROUP}`], path: "fieldexports", warnsOnly: [] },
  { id: "namespace", types: ["Namespace."], path: "namespaces", warnsOnly: [inSystemNamespace, byNamespaceController] },
  { id: "carm-map", types: ["ConfigMap."], names: isCARMMapName, path: "configmaps", warnsOnly: [ofNamespaceCleanup] },
  { id: "selector-definition", types: DEFINITION, names: isOfSelectors, path: PATH_OF_SELECTORS, warnsOnly: [] },
  { id: "resource-definition", types: DEFINITION, names: isOfACK, path: "resources", warnsOnly: [] },
  { id: "other-definition", types: DEFINITION, path: null, warnsOnly: [] },
  { id: "pod", types: ["Pod."], path: "pods", warnsOnly: [] },
  { id: "workload", types: WORKLOADS, path: null, warnsOnly: [] },
  { id: "secret", types: ["Secret."], path: null, warnsOnly: [] },
  { id: "identity", types: isIdentityKind, path: "identities", warnsOnly: OF_CAPA },
  { id: "cluster", types: (type) => referrerKindOf(type) !== null, path: "clusters", warnsOnly: [byCAPA, ...CLEANUP] },
  { id: "cluster-part", types: isPartKind, path: "clusters", warnsOnly: [byCAPA, byClusterAPI, ...CLEANUP] },
  { id: "selector-like", types: isSelectorLike, path: null, warnsOnly: [] },
  { id: "resource", types: isOfService, path: "resources", warnsOnly: [byACKController, ...CLEANUP] },
  { id: "identity-like", types: isIdentityLike, path: "identities", warnsOnly: OF_CAPA },
] as const satisfies readonly Kind[];

export type KindID = (typeof ROWS)[number]["id"];
export type KindRow = Kind & { readonly id: KindID };
export const KINDS: readonly KindRow[] = ROWS;

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
