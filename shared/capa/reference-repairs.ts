import {
  CONTROLLER_IDENTITY, CONTROLLER_IDENTITY_NAME, IDENTITY_KINDS, type IdentityReference, ROLE_IDENTITY,
} from "../core/capa-kinds.ts";
import { applyEdits, by, type Edit, meant, remove, type Repair, safely, set, unsafe } from "../core/repair.ts";
import type { ChainLink, Resolution } from "../core/resolution.ts";
import type { CheckContext } from "../core/check.ts";
import { type FieldPath, isJsonObject, type JsonObject, valueAt } from "../formats/json.ts";
import { NameIndex } from "../formats/nearest.ts";
import { allowsNamespace } from "./allowed-namespaces.ts";
import { clusterAccount } from "./cluster-account.ts";
import { IDENTITIES, identityObjectName } from "./identities.ts";
import { identityChain, referringNamespace } from "./identity-chain.ts";
import { isUnknownAccount, readReference } from "./identity.ts";
import { credentialsOf, type Referrer, referrerPath } from "./referrer.ts";
import { resolveReferrer } from "./resolve-identity.ts";
import { createDefault } from "./source-repairs.ts";

// The repairs of the reference of an object to an identity. None is offered that the checks would deny.

const KINDS = new NameIndex(IDENTITY_KINDS);

/** A change of an object that refers to an identity. */
export interface ReferenceChange extends CheckContext {
  readonly object: JsonObject;
  readonly referrer: Referrer;
  /** The identities of the object after the change. */
  readonly resolution: Resolution;
  /** The stored object at UPDATE; otherwise null. */
  readonly stored: Referrer | null;
}

/** Whether the checks allow the object to refer to the identity. Another one of a stored object must exist. */
function isUsable(change: ReferenceChange, reference: IdentityReference): boolean {
  const { inventory, settings, stored } = change;
  const referrer = { ...change.referrer, written: reference };
  const { code } = resolveReferrer(inventory, referrer, settings);
  if (stored === null) return code === null || code === "ERR_IDENTITY_UNKNOWN";
  const [from, to] = [clusterAccount(stored, inventory, settings), clusterAccount(referrer, inventory, settings)];
  const isMoved = from !== null && to !== null && from !== to && !isUnknownAccount(from) && !isUnknownAccount(to);
  return code === null && !isMoved;
}

/** Returns the kinds of the identities of this name that the object may use. */
function kindsOf(change: ReferenceChange, name: string): string[] {
  const { inventory, referrer } = change;
  return IDENTITY_KINDS.filter((kind) => (
    inventory.of(IDENTITIES).get({ kind, name }, referrer.namespace) !== null && isUsable(change, { kind, name })
  ));
}

/** Returns the repairs of a kind that no identity has, or that is missing. */
export function kindRepairs(change: ReferenceChange, { kind, name }: IdentityReference): readonly Repair[] {
  const path = [...referrerPath(change.referrer), "kind"];
  const near = KINDS.misspelled(kind).filter((one) => isUsable(change, { kind: one, name }));
  return near.length > 0 ? meant(path, near) : orStored(change, unsafe(meant(path, kindsOf(change, name))));
}

/** Returns the repairs of a missing name: only one identity of the kind has a name that is known. */
export function missingNameRepairs(change: ReferenceChange, kind: string): readonly Repair[] {
  const path = [...referrerPath(change.referrer), "name"];
  const isDefault = kind === CONTROLLER_IDENTITY && isUsable(change, { kind, name: CONTROLLER_IDENTITY_NAME });
  return isDefault ? safely(set(path, CONTROLLER_IDENTITY_NAME)) : orStored(change, []);
}

/** Returns the repairs, or if there are none, the one that keeps the reference of the stored object. */
function orStored(change: ReferenceChange, repairs: readonly Repair[]): readonly Repair[] {
  const written = change.stored?.written ?? null;
  if (repairs.length > 0 || written === null || !isUsable(change, written)) return repairs;
  return by(set(referrerPath(change.referrer), written));
}

/** Returns the repairs of a reference that is a text, or a list with one reference. */
export function shapeRepairs(change: ReferenceChange, value: unknown): readonly Repair[] {
  const path = referrerPath(change.referrer);
  if (typeof value === "string") {
    const references = kindsOf(change, value).map((kind) => ({ kind, name: value }));
    return orStored(change, unsafe(meant(path, references)));
  }
  const item: unknown = Array.isArray(value) && value.length === 1 ? value[0] : null;
  return isUsableValue(change, item) ? safely(set(path, item)) : orStored(change, []);
}

function isUsableValue(change: ReferenceChange, value: unknown): boolean {
  const reference = isJsonObject(value) ? readReference(value) : null;
  return reference !== null && isUsable(change, reference);
}

/** Returns the repairs of a field whose name or place is wrong. `to` is the field that is meant. */
export function misplacedRepairs(change: ReferenceChange, from: FieldPath, to: FieldPath): readonly Repair[] {
  const { object, referrer } = change;
  const edits = [remove(from), set(to, valueAt(object, from))];
  const reference = valueAt(applyEdits(object, edits), referrerPath(referrer));
  return isUsableValue(change, reference) ? safely(...edits) : [];
}

/** Returns the repairs of an identity of the chain that does not exist. `before` is the one whose source it is. */
export function unknownRepairs(
  change: ReferenceChange, link: IdentityReference, before: ChainLink | undefined,
): readonly Repair[] {
  const { inventory, referrer } = change;
  const { kind } = link;
  if (kind === CONTROLLER_IDENTITY && link.name === CONTROLLER_IDENTITY_NAME) {
    return by(createDefault({ list: [referrer.namespace] }));
  }
  const near = kind === CONTROLLER_IDENTITY ? [CONTROLLER_IDENTITY_NAME] : inventory.of(IDENTITIES).misspelledBy(link);
  if (before !== undefined) {
    const of = identityObjectName({ kind: ROLE_IDENTITY, name: before.name, namespace: "" });
    return unsafe(meant(["spec", "sourceIdentityRef", "name"], near))
      .map((repair) => ({ ...repair, edits: repair.edits.map((edit) => ({ ...edit, of })) }));
  }
  const usable = near.filter((name) => isUsable(change, { kind, name }));
  return orStored(change, meant([...referrerPath(referrer), "name"], usable));
}

/** Returns the repairs of a chain that the object may not use: the stored reference, then access for its namespace. */
export function refusedRepairs(change: ReferenceChange): readonly Repair[] {
  const kept = orStored(change, []).map(({ edits }) => ({ when: "to keep the identity", edits }));
  const edits = allowEdits(change);
  const allowed = edits.length === 0 ? [] : [{ when: "to allow the namespace", edits }];
  return [...kept, ...allowed];
}

/** Returns the edits that allow the namespace in each identity of the chain; none if that is not enough. */
function allowEdits({ inventory, referrer }: ReferenceChange): readonly Edit[] {
  const { namespace } = referrer;
  const { identities, broken } = identityChain(inventory, credentialsOf(referrer), namespace);
  const referring = referringNamespace(inventory, namespace);
  const refusing = identities.flatMap((one) => (
    "allowedNamespaces" in one && !allowsNamespace(one.allowedNamespaces, referring).allowed ? [one] : []
  ));
  // The spec of the identity `default` is immutable.
  if (broken !== null || refusing.some(({ kind }) => kind === CONTROLLER_IDENTITY)) return [];
  return refusing.map((one) => {
    const [of, { allowedNamespaces: allowed }] = [identityObjectName(one), one];
    return allowed.type === "some"
      ? { of, path: ["spec", "allowedNamespaces", "list"], value: [...allowed.names, namespace] }
      : { of, path: ["spec", "allowedNamespaces"], value: { list: [namespace] } };
  });
}

/** Returns the repair that names the identity whose credentials an object without a reference uses. */
export function ownIdentity(change: ReferenceChange): readonly Repair[] {
  const reference = { kind: CONTROLLER_IDENTITY, name: CONTROLLER_IDENTITY_NAME };
  if (!isUsable(change, reference)) return [];
  return [{ when: "if the credentials of CAPA are meant", edits: [set(referrerPath(change.referrer), reference)] }];
}
