import type { JsonObject } from "../formats/json.ts";
import { isMisspelled } from "../formats/nearest.ts";
import { type KindName, objectReference } from "../formats/object-meta.ts";
import { quote } from "../formats/text.ts";

// The kinds of Cluster API Provider AWS (CAPA). Source: kubernetes-sigs/cluster-api-provider-aws v2.10, api/, exp/api/
// and controlplane/.

export const INFRASTRUCTURE_GROUP = "infrastructure.cluster.x-k8s.io";
export const CONTROL_PLANE_GROUP = "controlplane.cluster.x-k8s.io";

/** The version of the CAPA kinds that CAPA serves and stores. The fields of an identity are the same in v1beta1. */
export const CAPA_VERSION = "v1beta2";

export const CONTROLLER_IDENTITY = "AWSClusterControllerIdentity";
export const STATIC_IDENTITY = "AWSClusterStaticIdentity";
export const ROLE_IDENTITY = "AWSClusterRoleIdentity";
/** The kind is proposed for CAPA. Shipped CAPA does not have this kind. */
export const SERVICE_ACCOUNT_IDENTITY = "AWSServiceAccountIdentity";

/** The name of the only AWSClusterControllerIdentity that CAPA uses. */
export const CONTROLLER_IDENTITY_NAME = "default";

export const IDENTITY_KINDS = [
  CONTROLLER_IDENTITY, STATIC_IDENTITY, ROLE_IDENTITY, SERVICE_ACCOUNT_IDENTITY,
] as const;
type IdentityKind = (typeof IDENTITY_KINDS)[number];

/** Returns the kind, or null if no identity has this kind. */
export function identityKindOf(kind: string): IdentityKind | null {
  return IDENTITY_KINDS.find((known) => known === kind) ?? null;
}

/** Returns the resource name of the kind, in RBAC rules and webhook rules. */
export function identityPlural(kind: IdentityKind): string {
  return `${kind.toLowerCase().replace(/y$/, "ie")}s`;
}

export function isIdentity(object: JsonObject): boolean {
  return isIdentityKind(objectReference(object));
}

export function isIdentityKind({ group, kind }: KindName): boolean {
  return group === INFRASTRUCTURE_GROUP && identityKindOf(kind) !== null;
}

/**
 * Whether the type is similar to one that decisions read: it has the kind, but another group of Cluster API or a
 * misspelled one, or the group of the identities and a kind that ends in Identity, or a misspelled kind.
 */
export function isLikeCAPAKind({ group, kind }: KindName): boolean {
  if (isCAPAKind({ group, kind })) return false;
  if (GROUPS.includes(group)) return isLikeIdentity(kind) || KINDS.some((one) => isMisspelled(kind, one));
  return KINDS.includes(kind) && GROUPS.some((one) => isMisspelled(group, one));
}

function isLikeIdentity(kind: string): boolean {
  return /^AWS\w*Identity$/i.test(kind);
}

/** A kind whose objects refer to an identity. */
export interface ReferrerKind extends KindName {
  /** The resource name of the kind, in RBAC rules and webhook rules. */
  readonly plural: string;
  /** Whether the reference is in `spec.template.spec`. Otherwise the reference is in `spec`. */
  readonly isTemplate: boolean;
  /**
   * Whether a missing reference stands for the AWSClusterControllerIdentity `default`. Otherwise shipped CAPA uses its
   * own credentials for an object without a reference, and does not check the namespace.
   */
  readonly isDefaulted: boolean;
}

/** Every kind that has the field `identityRef`. */
export const REFERRER_KINDS: readonly ReferrerKind[] = [
  referrer(INFRASTRUCTURE_GROUP, "AWSCluster"),
  referrer(INFRASTRUCTURE_GROUP, "AWSClusterTemplate"),
  referrer(INFRASTRUCTURE_GROUP, "ROSANetwork", false),
  referrer(INFRASTRUCTURE_GROUP, "ROSARoleConfig", false),
  referrer(CONTROL_PLANE_GROUP, "AWSManagedControlPlane"),
  referrer(CONTROL_PLANE_GROUP, "AWSManagedControlPlaneTemplate"),
  referrer(CONTROL_PLANE_GROUP, "ROSAControlPlane"),
];

function referrer(group: string, kind: string, isDefaulted = true): ReferrerKind {
  return { group, kind, plural: `${kind.toLowerCase()}s`, isTemplate: kind.endsWith("Template"), isDefaulted };
}

const GROUPS: readonly string[] = [INFRASTRUCTURE_GROUP, CONTROL_PLANE_GROUP];
const KINDS: readonly string[] = [...IDENTITY_KINDS, ...REFERRER_KINDS.map(({ kind }) => kind)];

/** Returns the kinds that a kind of CAPA, or a misspelled one, can stand for, and their group. */
export function meantCAPAKinds(kind: string): { readonly group: string; readonly kinds: readonly string[] } {
  const referring = REFERRER_KINDS.find((one) => isMisspelled(kind, one.kind));
  if (referring !== undefined) return { group: referring.group, kinds: [referring.kind] };
  const identities = IDENTITY_KINDS.filter((one) => isMisspelled(kind, one));
  return { group: INFRASTRUCTURE_GROUP, kinds: identities.length > 0 ? identities : IDENTITY_KINDS };
}

/** Returns the resource names of the kinds, sorted, for each API group. */
export function pluralsByGroup(
  kinds: readonly Pick<ReferrerKind, "group" | "plural">[],
): readonly { readonly group: string; readonly plurals: string[] }[] {
  const byGroup = Map.groupBy(kinds, ({ group }) => group);
  return Array.from(byGroup, ([group, ofGroup]) => (
    { group, plurals: ofGroup.map(({ plural }) => plural).toSorted() }
  ));
}

/** Returns the kind, or null if objects of the kind do not refer to an identity. */
export function referrerKindOf({ group, kind }: KindName): ReferrerKind | null {
  return REFERRER_KINDS.find((known) => known.group === group && known.kind === kind) ?? null;
}

/** Returns whether decisions read the objects of a CAPA kind: identities, and objects that refer to identities. */
export function isCAPAKind(kind: KindName): boolean {
  return isIdentityKind(kind) || referrerKindOf(kind) !== null;
}

/** The text for the unknown account of CAPA. */
export const ACCOUNT_OF_CAPA = "the account of CAPA";

/** A reference to an identity, not validated. A part that is missing or not a string is "". */
export interface IdentityReference {
  readonly kind: string;
  readonly name: string;
}

/** Returns `KIND "NAME"`. The kind of a reference can be any text, because users write the reference. */
export function describeIdentity({ kind, name }: IdentityReference): string {
  return `${identityKindOf(kind) ?? quote(kind)} ${quote(name)}`;
}

/** The Deployment in the manifests of CAPA. Source: kubernetes-sigs/cluster-api-provider-aws config/default. */
export const CAPA_DEPLOYMENT = "capa-system/capa-controller-manager";
