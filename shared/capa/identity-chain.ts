import type { ChainLink } from "../core/resolution.ts";
import { REFERRERS } from "./referrers.ts";
import { IDENTITIES } from "./identities.ts";
import type { Inventory } from "../core/inventory.ts";
import type { Labels } from "../formats/label-selector.ts";
import { LIMITS } from "../core/limits.ts";
import { allowsNamespace, type ReferringNamespace } from "./allowed-namespaces.ts";
import {
  type ChainDenial, cycleDenial, depthDenial, kindDenial, namespaceDenial, secretDenial, singletonDenial, unknownDenial,
} from "./identity-denials.ts";
import { type Identity, identityKey, referenceKey, type RoleIdentity } from "./identity.ts";
import {
  CONTROLLER_IDENTITY, CONTROLLER_IDENTITY_NAME, identityKindOf, type IdentityReference, ROLE_IDENTITY,
  SERVICE_ACCOUNT_IDENTITY, STATIC_IDENTITY,
} from "../core/capa-kinds.ts";
import { type Paced, paced } from "../formats/paced.ts";
import type { Referrer } from "./referrer.ts";

/** The identities that provide the credentials for an object in a namespace. */
export interface IdentityChain {
  /** From the identity to which the object refers, to the source of the credentials. */
  readonly links: readonly ChainLink[];
  /** The identities of `links` that exist, in the same order. */
  readonly identities: readonly Identity[];
  /** The denial of the first link that is not allowed; null if every identity of the chain may be used. */
  readonly denial: ChainDenial | null;
  /** The denial of the last link if its reference cannot be followed, for example because of a cycle; else null. */
  readonly broken: ChainDenial | null;
}

const MAX_ROLES = LIMITS.identityRoles.value;

/** Changes that the inventory does not contain. */
interface ChainChanges {
  /** Replaces the identity that has the same kind and name. */
  readonly changed?: Identity | undefined;
  /** Replaces the AWSClusterRoleIdentities that have these names. */
  readonly pending?: ReadonlyMap<string, RoleIdentity>;
  /** Replaces the labels of the namespace. */
  readonly labels?: Labels;
}

/**
 * Returns the chain of the identity to which an object in the namespace refers. Follows `sourceIdentityRef` until the
 * source of the credentials, or until a reference that cannot be followed, at most 9 links. Reads no Secret.
 */
export function identityChain(
  inventory: Inventory, reference: IdentityReference, namespace: string, changes: ChainChanges = {},
): IdentityChain {
  const referring = referringNamespace(inventory, namespace, changes.labels);
  const links: ChainLink[] = [];
  const identities: Identity[] = [];
  let denial: ChainDenial | null = null;
  let broken: ChainDenial | null = null;
  let next: IdentityReference | null = reference;
  while (next !== null) {
    const identity: Identity | null = identityAfter(changes, next, namespace)
      ?? inventory.of(IDENTITIES).get(next, namespace);
    broken = brokenReference(next, identity, identities);
    const usage = broken === null && identity !== null ? usageOf(identity, referring) : { denial: broken, reason: "" };
    links.push(linkOf(next, identity, usage));
    denial ??= usage.denial;
    if (broken !== null || identity === null) break;
    identities.push(identity);
    next = identity.kind === ROLE_IDENTITY ? identity.source : null;
  }
  return { links, identities, denial, broken };
}

/** Returns the changed identity to which the reference refers; undefined if the identity does not change. */
function identityAfter(
  { changed, pending }: ChainChanges, reference: IdentityReference, namespace: string,
): Identity | undefined {
  const key = referenceKey(reference, namespace);
  if (changed !== undefined && identityKey(changed) === key) return changed;
  return reference.kind === ROLE_IDENTITY ? pending?.get(reference.name) : undefined;
}

/** Returns the namespace for decisions on identities. `changed` replaces the labels of the namespace. */
export function referringNamespace(
  { namespaces, origin }: Inventory, name: string, changed?: Labels,
): ReferringNamespace {
  if (changed !== undefined) return { name, labels: changed, isPartial: false };
  const exists = namespaces.has(name);
  const labels = exists || origin === "file" ? namespaces.labelsOf(name) : null;
  return { name, labels, isPartial: !exists };
}

/** Returns the denial of a reference that cannot be followed, or null. `before` are the identities before it. */
function brokenReference(
  reference: IdentityReference, identity: Identity | null, before: readonly Identity[],
): ChainDenial | null {
  const isSource = before.length > 0;
  const kind = identityKindOf(reference.kind);
  if (kind === null || (isSource && kind === SERVICE_ACCOUNT_IDENTITY)) return kindDenial(reference, isSource);
  if (kind === CONTROLLER_IDENTITY && reference.name !== CONTROLLER_IDENTITY_NAME) return singletonDenial(reference);
  if (identity === null) return unknownDenial(reference, before.at(-1) ?? null);
  return identity.kind === ROLE_IDENTITY ? repetition(identity, before) : null;
}

/** Returns the denial of a role that the chain already contains, or that exceeds the limit of roles. */
function repetition(identity: Identity, before: readonly Identity[]): ChainDenial | null {
  const start = before.findIndex((one) => one.kind === identity.kind && one.name === identity.name);
  if (start >= 0) return cycleDenial([...before.slice(start), identity]);
  return before.length < MAX_ROLES ? null : depthDenial(identity, MAX_ROLES);
}

/** Whether an identity that exists may be used in a namespace. */
interface Usage {
  readonly denial: ChainDenial | null;
  /** The reason if the identity may be used. */
  readonly reason: string;
}

function usageOf(identity: Identity, namespace: ReferringNamespace): Usage {
  if (identity.kind === SERVICE_ACCOUNT_IDENTITY) return { denial: null, reason: "the identity is in the namespace" };
  const { code, reason } = allowsNamespace(identity.allowedNamespaces, namespace);
  if (code !== null) return { denial: namespaceDenial(identity, namespace.name, { code, reason }), reason };
  return { denial: identity.kind === STATIC_IDENTITY ? secretDenial(identity) : null, reason };
}

function linkOf({ kind, name }: IdentityReference, identity: Identity | null, { denial, reason }: Usage): ChainLink {
  const roleARN = identity !== null && "roleARN" in identity ? identity.roleARN : null;
  return { kind, name, roleARN, allowed: denial === null, reason: denial?.reason ?? reason };
}

const BETWEEN_PAUSES = 200;

type NamedIdentity = Pick<Identity, "kind" | "name" | "namespace">;

/** Visits every object that refers to the identity itself. Stops and returns false when `visit` returns false. */
export function* visitDirectUsers(
  inventory: Inventory, identity: NamedIdentity, visit: (user: Referrer) => boolean,
): Paced<boolean> {
  return yield* paced(inventory.of(REFERRERS).ofIdentity(identity, identity.namespace), BETWEEN_PAUSES, visit);
}

/**
 * Visits every object whose chain contains the identity. Stops when `visit` returns false. Omits the objects whose
 * chain has too many roles: their chain is denied with any change of the identity.
 */
export function* visitUsers(
  inventory: Inventory, identity: NamedIdentity, visit: (user: Referrer) => boolean,
): Paced<void> {
  const found = new Set([identityKey(identity)]);
  let level: readonly NamedIdentity[] = [identity];
  for (let roles = 0; roles <= LIMITS.identityRoles.value && level.length > 0; roles++) {
    const next: Identity[] = [];
    for (const one of level) {
      if (!(yield* visitDirectUsers(inventory, one, visit))) return;
      yield* paced(inventory.of(IDENTITIES).withSource(one), BETWEEN_PAUSES, (dependent) => {
        const key = identityKey(dependent);
        if (!found.has(key)) next.push(dependent);
        found.add(key);
        return true;
      });
      yield next.length;
    }
    level = next;
  }
}

/** Returns `KIND NAMESPACE/NAME`. */
export function referrerName({ kind, namespace, name }: Pick<Referrer, "kind" | "namespace" | "name">): string {
  return `${kind} ${namespace}/${name}`;
}
