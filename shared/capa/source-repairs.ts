import {
  CONTROLLER_IDENTITY, CONTROLLER_IDENTITY_NAME, type IdentityReference, ROLE_IDENTITY, STATIC_IDENTITY,
} from "../core/capa-kinds.ts";
import { by, type Edit, meant, type Repair, set, unsafe } from "../core/repair.ts";
import { field, isSame, valueAt } from "../formats/json.ts";
import { NameIndex } from "../formats/nearest.ts";
import type { AllowedNamespaces } from "./allowed-namespaces.ts";
import { IDENTITIES, identityObjectName } from "./identities.ts";
import type { IdentityChange } from "./identity-change.ts";
import type { Identity } from "./identity.ts";

// The repairs of the source of a role identity, and of the namespaces that both allow.

const PATH = ["spec", "sourceIdentityRef"] as const;
const ALLOWED = ["spec", "allowedNamespaces"] as const;
const DEFAULT = { kind: CONTROLLER_IDENTITY, name: CONTROLLER_IDENTITY_NAME } as const;
const SOURCE_KINDS = [CONTROLLER_IDENTITY, STATIC_IDENTITY, ROLE_IDENTITY] as const;
const KIND_NAMES = new NameIndex(SOURCE_KINDS);

/** Returns the edit that creates the identity `default`. */
export function createDefault(allowedNamespaces: unknown): Edit {
  const of = identityObjectName({ ...DEFAULT, namespace: "" });
  const { apiVersion, kind, name } = of;
  return { path: [], of, value: { apiVersion, kind, metadata: { name }, spec: { allowedNamespaces } } };
}

/** Returns the repair that makes CAPA's own credentials the source; none if these do not allow the same namespaces. */
export function defaultSource({ inventory, allowed }: IdentityChange): readonly Repair[] {
  const stored = inventory.of(IDENTITIES).get(DEFAULT, "");
  if (stored === null) return by(set(PATH, DEFAULT), createDefault(allowed));
  const isOpen = "allowedNamespaces" in stored && stored.allowedNamespaces.type === "all";
  return isOpen ? by(set(PATH, DEFAULT)) : [];
}

/** Returns the repairs of a chain that cannot be followed: the old source, then CAPA's own credentials. */
export function otherSource(change: IdentityChange): readonly Repair[] {
  const [old, source] = [valueAt(change.stored?.object, PATH), valueAt(change.object, PATH)];
  const isChanged = old !== undefined && !isSame(old, source);
  const before = isChanged ? [{ when: "to keep the source", edits: [set(PATH, old)] }] : [];
  const own = defaultSource(change).map(({ edits }) => ({ when: "to use the credentials of CAPA", edits }));
  return [...before, ...own];
}

/** Returns the repairs of the kind of a source: the kind that is meant, or a kind that has an identity of this name. */
export function sourceKindRepairs(
  { inventory }: Pick<IdentityChange, "inventory">, { kind, name }: IdentityReference,
): readonly Repair[] {
  const path = [...PATH, "kind"];
  const near = KIND_NAMES.misspelled(kind);
  if (near.length > 0) return meant(path, near);
  return unsafe(meant(path, SOURCE_KINDS.filter((one) => hasIdentity(inventory, { kind: one, name }))));
}

function hasIdentity(inventory: IdentityChange["inventory"], reference: IdentityReference): boolean {
  return inventory.of(IDENTITIES).get(reference, "") !== null;
}

/** Returns the repairs of a source that does not exist: the name or the kind that is meant, or its creation. */
export function missingSourceRepairs(change: IdentityChange, { kind, name }: IdentityReference): readonly Repair[] {
  const { inventory, identity } = change;
  const isOther = (one: string): boolean => one !== identity.name || kind !== identity.kind;
  const near = meant([...PATH, "name"], inventory.of(IDENTITIES).misspelledBy({ kind, name }).filter(isOther));
  if (near.length > 0) return near;
  if (kind === CONTROLLER_IDENTITY) return by(createDefault(change.allowed));
  const others = SOURCE_KINDS.filter((one) => one !== identity.kind && hasIdentity(inventory, { kind: one, name }));
  return unsafe(meant([...PATH, "kind"], others));
}

interface Narrower {
  readonly source: Identity & { readonly allowedNamespaces: AllowedNamespaces };
  /** The namespaces that only the identity allows. */
  readonly namespaces: readonly string[];
  /** Whether these are all such namespaces. */
  readonly isWhole: boolean;
  readonly isDisjoint: boolean;
}

/** Returns the repairs of an identity that allows other namespaces than its source: first fewer, then more. */
export function narrowerSourceRepairs(change: IdentityChange, found: Narrower): readonly Repair[] {
  const edits = [
    { when: "to allow fewer namespaces", edit: fewerHere(change, found) },
    { when: "to allow them in the source", edit: moreThere(change, found) },
  ];
  return edits.flatMap(({ when, edit }) => (edit === null ? [] : [{ when, edits: [edit] }]));
}

function fewerHere({ allowed }: IdentityChange, { namespaces, isWhole, isDisjoint }: Narrower): Edit | null {
  const list = field(allowed, "list");
  const isList = Array.isArray(list) && (field(allowed, "selector") ?? null) === null;
  if (!isList || !isWhole || isDisjoint) return null;
  const others = new Set<unknown>(namespaces);
  return set([...ALLOWED, "list"], list.filter((name) => !others.has(name)));
}

/** The spec of the identity `default` is immutable. */
function moreThere({ allowed }: IdentityChange, { source, namespaces, isWhole }: Narrower): Edit | null {
  const of = identityObjectName(source);
  const { allowedNamespaces: other, kind } = source;
  if (kind === CONTROLLER_IDENTITY || !isWhole) return null;
  // A source that allows every namespace is not narrower.
  if (other.type !== "some") return { path: ALLOWED, of, value: allowed };
  return { path: [...ALLOWED, "list"], of, value: [...other.names, ...namespaces] };
}
