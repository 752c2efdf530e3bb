import { IDENTITIES, identityObjectName } from "./identities.ts";
import { allowedKey } from "./allowed-namespaces.ts";
import { identityChain, referrerName, visitDirectUsers, visitUsers } from "./identity-chain.ts";
import { accountOfIdentity, type Identity } from "./identity.ts";
import { CONTROLLER_IDENTITY, describeIdentity, ROLE_IDENTITY, STATIC_IDENTITY } from "../core/capa-kinds.ts";
import { by, type ObjectName, type Repair, repairsOf, restore } from "../core/repair.ts";
import { field, type FieldPath, isSame, valueAt } from "../formats/json.ts";
import { apiVersionOf } from "../formats/object-meta.ts";
import { referenceOf, type Referrer, referrerPath } from "./referrer.ts";
import type { Inventory } from "../core/inventory.ts";
import { countOf, listOf, printable } from "../formats/text.ts";
import type { Paced } from "../formats/paced.ts";
import type { Fault, ScanningCheck } from "../core/check.ts";
import type { IdentityChange } from "./identity-change.ts";
import { CAPA_NEEDS } from "./requirements.ts";

/** A check stops after this number of affected objects. */
const MAX_USERS = 20;

/** Returns `2 objects use the identity: AWSCluster ns1/a and AWSCluster ns1/b`. */
function usersText(names: readonly string[], verb: string): string {
  const used = `${names.length === 1 ? `${verb}s` : verb} the identity`;
  const count = countOf(names.length, "object", MAX_USERS);
  return printable(`${count} ${used}: ${listOf(names, names.length, MAX_USERS)}`);
}

/** Whether the object may use its identity if `changed` replaces the identity of the same kind and name. */
function isAllowed(user: Referrer, inventory: Inventory, changed: Identity): boolean {
  const reference = referenceOf(user, inventory.runtime);
  return reference !== null && identityChain(inventory, reference, user.namespace, { changed }).denial === null;
}

/** Whether both identities allow the same namespaces and have the same source and Secret. */
function isSameUse(a: Identity, b: Identity): boolean {
  return useKey(a) === useKey(b);
}

function useKey(identity: Identity): string {
  const allowed = "allowedNamespaces" in identity ? allowedKey(identity.allowedNamespaces) : "";
  const source = identity.kind === ROLE_IDENTITY ? identity.source : null;
  const secret = identity.kind === STATIC_IDENTITY ? identity.secretName : null;
  return JSON.stringify([identity.kind, allowed, source, secret]);
}

/** Returns the objects that may use their identity before the change, but not afterwards. */
function* losingUsers({ identity, inventory }: IdentityChange, before: Identity | undefined): Paced<Referrer[]> {
  const users: Referrer[] = [];
  if (before === undefined || isSameUse(before, identity)) return users;
  yield* visitUsers(inventory, identity, (user) => {
    if (isAllowed(user, inventory, before) && !isAllowed(user, inventory, identity)) users.push(user);
    return users.length < MAX_USERS;
  });
  return users;
}

export const CI_07: ScanningCheck<IdentityChange> = {
  id: "CI-07",
  severity: "deny",
  waivable: true,
  reason: "CAPA neither reconciles nor deletes a cluster whose namespace its chain does not allow. The check only "
    + "warns about a new AWSClusterControllerIdentity, whose spec is immutable.",
  fix: "keep the namespaces of these objects in allowedNamespaces, or delete the objects first",
  example: "spec: {allowedNamespaces: {list: []}} # was [team-a], where a cluster uses the identity",
  requires: [CAPA_NEEDS.clusters],
  on: ["UPDATE"],
  ofChange: true,
  *scan(change) {
    const { object, stored } = change;
    const names = (yield* losingUsers(change, stored?.identity)).map(referrerName);
    if (stored === null || names.length === 0) return [];
    const paths = USED_FIELDS.filter((path) => !isSame(valueAt(object, path), valueAt(stored.object, path)));
    return [{ path: ["spec"], message: usersText(names, "lose"), repairs: restore(stored.object, ...paths) }];
  },
};

/** The fields that decide who may use an identity. */
const USED_FIELDS: readonly FieldPath[] = ["allowedNamespaces", "sourceIdentityRef", "secretRef"]
  .map((name) => ["spec", name]);

/** CI-07 for a new controller identity in a cluster. Of manifests, AC-02 reports the clusters. */
export const CI_07_OF_NEW: ScanningCheck<IdentityChange> = {
  ...CI_07,
  severity: "warn",
  fix: "list the namespaces of these objects in allowedNamespaces before you create the identity",
  requires: [],
  on: ["CREATE"],
  *scan(change) {
    const { identity, origin } = change;
    if (identity.kind !== CONTROLLER_IDENTITY || origin === "file") return [];
    const users = yield* losingUsers(change, { ...identity, allowedNamespaces: { type: "all" } });
    if (users.length === 0) return [];
    const names = users.map(referrerName);
    return [{ path: ["spec"], message: `${usersText(names, "use")}, but it does not allow their namespaces` }];
  },
};

export const CI_30: ScanningCheck<IdentityChange> = {
  id: "CI-30",
  severity: "deny",
  waivable: true,
  reason: "The resources of a cluster stay in their account. With a role in another account, CAPA creates the cluster "
    + "again and cannot delete the old resources.",
  fix: "create another identity for the new account, and use it only for new clusters",
  example: "spec: {roleARN: 'arn:aws:iam::444455556666:role/capa'} # was in account 111122223333",
  requires: [CAPA_NEEDS.clusters],
  on: ["UPDATE"],
  ofChange: true,
  *scan({ identity, inventory, stored }): Paced<readonly Fault[]> {
    if (identity.kind !== ROLE_IDENTITY || stored?.identity.kind !== ROLE_IDENTITY) return [];
    const [from, to] = [accountOfIdentity(stored.identity), accountOfIdentity(identity)];
    if (from === null || to === null || from === to) return [];
    const names: string[] = [];
    yield* visitDirectUsers(inventory, identity, (user) => {
      names.push(referrerName(user));
      return names.length < MAX_USERS;
    });
    if (names.length === 0) return [];
    const message = printable(`the role moves from account ${from} to account ${to}, and ${usersText(names, "use")}`);
    const path = ["spec", "roleARN"];
    return [{ path, message, repairs: restore(stored.object, path) }];
  },
};

/** An object that refers to an identity. */
interface DirectUser {
  readonly text: string;
  readonly of: ObjectName;
  /** The field with the reference. */
  readonly path: FieldPath;
}

/** Returns the objects and the identities that refer to the identity. */
function* directUsers({ identity, inventory }: IdentityChange): Paced<DirectUser[]> {
  const users: DirectUser[] = [];
  for (const dependent of inventory.of(IDENTITIES).withSource(identity)) {
    if (users.length >= MAX_USERS) return users;
    const path = ["spec", "sourceIdentityRef"];
    users.push({ text: describeIdentity(dependent), of: identityObjectName(dependent), path });
  }
  yield* visitDirectUsers(inventory, identity, (user) => {
    const of = { apiVersion: apiVersionOf(user), kind: user.kind, namespace: user.namespace, name: String(user.name) };
    if (!user.deleting) users.push({ text: referrerName(user), of, path: referrerPath(user) });
    return users.length < MAX_USERS;
  });
  return users;
}

/**
 * Returns the repair that gives all users a copy of the identity, which has the same account. The users of the identity
 * `default` cannot use a copy.
 */
function copyRepair({ identity, inventory, object }: IdentityChange, users: readonly DirectUser[]): readonly Repair[] {
  const { kind, namespace } = identity;
  const copy = { kind, name: `${identity.name}-copy` };
  const isFree = inventory.of(IDENTITIES).get(copy, namespace) === null;
  if (kind === CONTROLLER_IDENTITY || users.length >= MAX_USERS || !isFree) return [];
  const of = identityObjectName({ ...copy, namespace });
  const metadata = { name: copy.name, ...(namespace !== "" && { namespace }) };
  const value = { apiVersion: of.apiVersion, kind, metadata, spec: field(object, "spec") };
  return by({ path: [], of, value }, ...users.map((user) => ({ path: user.path, of: user.of, value: copy })));
}

const DEFAULT_FIX = "delete these objects first, or change their reference. To change the allowed namespaces, "
  + "waive the check, and create the identity again at once";

export const CI_31: ScanningCheck<IdentityChange> = {
  id: "CI-31",
  severity: "deny",
  waivable: true,
  reason: "CAPA can neither reconcile nor delete a cluster whose identity does not exist. Clusters without identityRef "
    + "use the AWSClusterControllerIdentity. CAPA can create it again, and then allows every namespace.",
  fix: "delete these objects first, or change their reference to another identity in the same account",
  example: "kubectl delete awsclusterroleidentity team-a # while a cluster uses the identity",
  requires: [CAPA_NEEDS.clusters],
  on: ["DELETE"],
  ofChange: true,
  *scan(change): Paced<readonly Fault[]> {
    const users = yield* directUsers(change);
    if (users.length === 0) return [];
    const fix = change.identity.kind === CONTROLLER_IDENTITY ? DEFAULT_FIX : CI_31.fix;
    const message = usersText(users.map(({ text }) => text), "use");
    return [{ path: [], message, fix, ...repairsOf(copyRepair(change, users)) }];
  },
};
