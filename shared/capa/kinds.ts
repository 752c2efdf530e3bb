import { storedBy } from "./allowed-namespaces.ts";
import { IDENTITIES } from "./identities.ts";
import { IDENTITY_ACCOUNTS_STORE } from "./identity-accounts.ts";
import { readReferrer } from "./referrer.ts";
import { REFERRERS } from "./referrers.ts";
import { IDENTITY_ROLES } from "./resolve-identity.ts";
import { SECRETS } from "./secrets.ts";
import {
  CAPA_DEPLOYMENT, CONTROL_PLANE_GROUP, IDENTITY_KINDS, identityKindOf, identityPlural, INFRASTRUCTURE_GROUP,
  isLikeCAPAKind, pluralsByGroup, REFERRER_KINDS, SERVICE_ACCOUNT_IDENTITY,
} from "../core/capa-kinds.ts";
import { clusterOwner, isPartKind, PART_KINDS } from "./cluster-parts.ts";
import { byCAPA, byClusterAPI, ofNamespaceCleanup } from "../core/exemptions.ts";
import { IDENTITY_ACCOUNTS } from "../core/installation.ts";
import { keeping, pickFields, roleMetadata } from "../core/kept-fields.ts";
import {
  CLEANUP, CLOSED, core, CREATE_AND_UPDATE, EVERY_WRITE, LIST, OPEN, PAGE, READ, STATUS_WAIVERS, WAIVERS, WRITE,
} from "../core/kind-rows.ts";
import type { Kind } from "../core/kind.ts";
import { decodePod, podTemplateOf } from "../core/pod.ts";
import { field, isJsonObject, type JsonObject, stringAt } from "../formats/json.ts";
import { CHANGES_MORE_THAN_BOOKKEEPING, type Condition, NOT_DELETED_AGAIN, UNCHANGED } from "../core/conditions.ts";
import { objectReference } from "../formats/object-meta.ts";

/** The image of CAPA, in its registry or in a copy, with the version as its tag. */
const CAPA_IMAGE = /(?:^|\/)cluster-api-aws-controller:(v[0-9]{1,4}\.[0-9]{1,4}\.[0-9]{1,4}[-.0-9A-Za-z]{0,40})(?:@|$)/;

/** Returns the version of CAPA that its Deployments run, or null if the objects contain none or several versions. */
export function capaVersionIn(objects: Iterable<JsonObject>): string | null {
  const versions = new Set(Array.from(objects).flatMap(versionsOf));
  const [version = null] = versions;
  return versions.size === 1 ? version : null;
}

function versionsOf(object: JsonObject): string[] {
  const { group, kind, namespace, name } = objectReference(object);
  const isOfCAPA = kind === "Deployment" && group === "apps" && `${namespace}/${name}` === CAPA_DEPLOYMENT;
  const template = isOfCAPA ? podTemplateOf(object) : null;
  if (template === null) return [];
  return decodePod(template.pod).containers.flatMap(({ image }) => CAPA_IMAGE.exec(image)?.[1] ?? []);
}

const OF_CAPA = [byCAPA, ofNamespaceCleanup] as const;
const USE = {
  name: "use", onlyFor: "AC-05", whenDown: "Ignore", conditions: [NOT_DELETED_AGAIN, CHANGES_MORE_THAN_BOOKKEEPING],
} as const;

/**
 * Skips each UPDATE that changes only the status, and the metadata except labels and annotations. The webhook does
 * not mutate the object then (clusterMutationExemptionOf).
 */
const MUTATES_CLUSTER: Condition = { name: "mutates-cluster", expression: `oldObject == null || !(${UNCHANGED})` };

/** The identities of CAPA. */
export const IDENTITY = {
  id: "identity", feature: "capa", types: IDENTITY_KINDS.map((kind) => `${kind}.${INFRASTRUCTURE_GROUP}`),
  path: "identities", choosesRole: true, isReference: isIdentityReference, warnsOnly: OF_CAPA,
  served: {
    groups: [{ group: INFRASTRUCTURE_GROUP, plurals: IDENTITY_KINDS.map(identityPlural).toSorted() }],
    version: "*", scope: "*",
  },
  reviews: [{ ...CLOSED, operations: EVERY_WRITE, records: true }],
  waivers: WAIVERS,
  watch: {
    pageSize: PAGE, parts: ["resources", "identities"],
    isClusterScoped: ({ kind }) => kind !== SERVICE_ACCOUNT_IDENTITY,
    // Not the labels: anyone who can write an identity can add labels.
    keep: keeping({ metadata: ["name", "namespace", "uid", "resourceVersion"], spec: "all" }),
  },
  rights: {
    resources: LIST, identities: LIST, "identity-owner": [...READ, ...WRITE], "identity-user": ["use"],
  },
  limit: {
    code: "CI-34", fix: "remove values from the identity, and select namespaces by label instead of a long list",
    example: "an AWSClusterRoleIdentity that lists 20,000 namespaces",
  }, store: IDENTITIES, countedAs: "identities",
  storedForm: { versionIn: capaVersionIn, asStored: storedBy },
} as const satisfies Kind;

/** The objects that refer to an identity of CAPA. */
export const CLUSTER = {
  id: "cluster", feature: "capa", types: REFERRER_KINDS.map(({ kind, group }) => `${kind}.${group}`), path: "clusters",
  choosesRole: true, resembles: hasIdentity, warnsOnly: [byCAPA, ...CLEANUP],
  served: { groups: pluralsByGroup(REFERRER_KINDS), version: "*", scope: "Namespaced" },
  reviews: [
    { mutates: true, operations: CREATE_AND_UPDATE, whenDown: "Ignore", conditions: [MUTATES_CLUSTER] },
    { ...OPEN, operations: CREATE_AND_UPDATE, conditions: [CHANGES_MORE_THAN_BOOKKEEPING] },
    { ...USE, operations: ["DELETE"] },
  ],
  waivers: STATUS_WAIVERS,
  watch: { pageSize: PAGE, parts: ["resources"], keep: keptOfReferrer },
  rights: { resources: LIST, reconciler: ["patch"], "identity-tenant": [...READ, ...WRITE] },
  limit: {
    code: "AC-08", fix: "split the object, or remove values from it",
    example: "an AWSCluster whose spec is nested deeper than 100 levels",
  }, store: REFERRERS, annotated: REFERRERS, readRoleObject: readReferrer, roles: [IDENTITY_ROLES],
} as const satisfies Kind;

/** The objects that use the identity of their Cluster. */
export const CLUSTER_PART = {
  id: "cluster-part", feature: "capa", types: isPartKind, path: "clusters",
  warnsOnly: [byCAPA, byClusterAPI, ...CLEANUP],
  served: { groups: pluralsByGroup(PART_KINDS), version: "*", scope: "Namespaced" },
  reviews: [{ ...USE, operations: EVERY_WRITE }], limit: CLUSTER.limit,
  rights: { "identity-tenant": [...READ, ...WRITE] },
} as const satisfies Kind;

/** Objects that are probably meant to be identities of CAPA, or clusters. */
export const IDENTITY_LIKE = {
  id: "identity-like", feature: "capa", types: isLikeCAPAKind, path: "identities",
  choosesRole: true, isMisspelled: true, warnsOnly: OF_CAPA,
} as const satisfies Kind;

/** The Secrets of static identities, without their values. */
export const SECRET = {
  id: "secret", feature: "capa", types: ["Secret."], path: null, warnsOnly: [], served: core("secrets", "Namespaced"),
  watch: {
    pageSize: PAGE, metadataOnly: true, parts: ["secrets"],
    // Not the annotations: the last-applied annotation of `kubectl apply` contains the values of the Secret.
    keep: keeping({ metadata: ["name", "namespace", "uid", "resourceVersion", "managedFields"] }),
  },
  // RBAC cannot limit the right to list Secrets to their metadata.
  rights: { "identity-secrets": READ, "webhook-identity-secrets": LIST }, store: SECRETS,
} as const satisfies Kind;

/** The ConfigMap of the accounts of these Secrets. */
export const IDENTITY_ACCOUNTS_MAP = {
  id: "identity-accounts", feature: "capa", types: ["ConfigMap."], names: (name) => name === IDENTITY_ACCOUNTS,
  path: null,
  warnsOnly: [], served: core("configmaps", "Namespaced"),
  watch: {
    pageSize: PAGE, names: [IDENTITY_ACCOUNTS], parts: ["identityAccounts"],
    keep: keeping({ metadata: ["name", "namespace", "resourceVersion"], data: "all" }),
  },
  rights: { "identity-secrets": ["patch"], "webhook-identity-secrets": LIST }, store: IDENTITY_ACCOUNTS_STORE,
} as const satisfies Kind;

/** Whether a value has only the fields of an `identityRef`, as variables of a Cluster with a topology have. */
function isIdentityReference(value: JsonObject): boolean {
  const isOfIdentity = identityKindOf(stringAt(value, "kind") ?? "") !== null;
  return isOfIdentity && Object.keys(value).length === 2 && typeof value["name"] === "string";
}

function hasIdentity(object: JsonObject): boolean {
  const { group } = objectReference(object);
  if (group !== INFRASTRUCTURE_GROUP && group !== CONTROL_PLANE_GROUP) return false;
  const spec = field(object, "spec");
  return [spec, field(field(spec, "template"), "spec")].some((one) => field(one, "identityRef") !== undefined);
}

/** Returns only the reference and the region of the spec or of a template, and the owner of kind Cluster. */
function keptOfReferrer(object: JsonObject): JsonObject {
  const spec = field(object, "spec");
  const template = field(field(spec, "template"), "spec");
  const owner = clusterOwner(object);
  return {
    metadata: { ...roleMetadata(object), ...(owner !== null && { ownerReferences: [owner] }) },
    spec: {
      ...pickFields(spec, REFERRER_FIELDS),
      ...(isJsonObject(template) && { template: { spec: pickFields(template, REFERRER_FIELDS) } }),
    },
  };
}

const REFERRER_FIELDS = ["identityRef", "region"];
