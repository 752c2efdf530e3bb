import { NO_CHANGES, type PendingChanges } from "../core/pending-changes.ts";
import { SECRETS } from "./secrets.ts";
import { CONTROLLER_IDENTITY, CONTROLLER_IDENTITY_NAME, STATIC_IDENTITY } from "../core/capa-kinds.ts";
import { field, type FieldPath, type JsonObject } from "../formats/json.ts";
import { subdomainFaults } from "../formats/names.ts";
import { quote } from "../formats/text.ts";
import { allowedKey } from "./allowed-namespaces.ts";
import { type Identity, readIdentity, type RoleIdentity } from "./identity.ts";
import { by, remove, type Repair, repairsOf, restore, safely, set } from "../core/repair.ts";
import { IDENTITIES } from "./identities.ts";
import { type CheckContext, type CheckInput, type Fault, isComplete, type QuickCheck } from "../core/check.ts";
import { type SecretKey, type SecretMetadata, TOKEN_KEY } from "./identity-secret.ts";
import { CAPA_NEEDS } from "./requirements.ts";

export const CI_01: QuickCheck<IdentityChange> = {
  id: "CI-01",
  severity: "deny",
  reason: "CAPA uses only the AWSClusterControllerIdentity named default, and rejects a change of its spec.",
  fix: `name the identity ${CONTROLLER_IDENTITY_NAME}`,
  example: "kind: AWSClusterControllerIdentity\nmetadata: {name: other}",
  ofChange: true,
  *find(change): Iterable<Fault> {
    const { identity, stored } = change;
    if (identity.kind !== CONTROLLER_IDENTITY) return;
    if (identity.name !== CONTROLLER_IDENTITY_NAME) {
      const message = `the name is ${quote(identity.name)}, not ${CONTROLLER_IDENTITY_NAME}`;
      yield { path: ["metadata", "name"], message, repairs: nameRepairs(change) };
    }
    if (stored?.identity.kind !== CONTROLLER_IDENTITY) return;
    if (allowedKey(identity.allowedNamespaces) === allowedKey(stored.identity.allowedNamespaces)) return;
    const message = "the allowed namespaces change, and the spec is immutable";
    const fix = "delete the identity, and create it with the new spec. While objects use it, first change their "
      + "identityRef, or ask a waiver user to allow the deletion (CI-31)";
    const path = ["spec", "allowedNamespaces"];
    yield { path, message, fix, repairs: restore(stored.object, path) };
  },
};

/** A stored identity cannot get another name, and CAPA uses no second one. */
function nameRepairs({ identity, inventory, operation }: IdentityChange): readonly Repair[] {
  const reference = { kind: identity.kind, name: CONTROLLER_IDENTITY_NAME };
  const isNew = operation === "CREATE" && inventory.of(IDENTITIES).get(reference, "") === null;
  return isNew ? safely(set(["metadata", "name"], CONTROLLER_IDENTITY_NAME)) : by(remove([]));
}

/** The name of the Secret is empty if the field is missing, and if its value is not a string. */
function emptyRefFault(value: unknown): string {
  const isMissing = value === undefined || value === null || value === "";
  return isMissing ? "secretRef is missing" : "secretRef is not the name of a Secret";
}

export const CI_11: QuickCheck<IdentityChange> = {
  id: "CI-11",
  severity: "deny",
  reason: "CAPA rejects a change of secretRef, also of an empty one. A name that is not valid never names a Secret.",
  fix: "set secretRef to the name of a Secret in the namespace of CAPA",
  example: "kind: AWSClusterStaticIdentity\nspec: {allowedNamespaces: {list: [team-a]}} # secretRef is missing",
  *find({ identity, object, stored }): Iterable<Fault> {
    if (identity.kind !== STATIC_IDENTITY) return;
    const name = identity.secretName ?? "";
    const path = ["spec", "secretRef"];
    if (name === "") yield { path, message: emptyRefFault(field(field(object, "spec"), "secretRef")) };
    else if (subdomainFaults(name).length > 0) {
      const message = `${quote(name)} is not the name of a Secret`;
      yield { path, message, ...repairsOf(secretNameRepair(path, name)) };
    }
    const before = stored?.identity.kind === STATIC_IDENTITY ? (stored.identity.secretName ?? "") : name;
    if (before === name) return;
    const message = `secretRef changes from ${quote(before)} to ${quote(name)}`;
    const fix = "to use another Secret, create another identity";
    yield { path, message, fix, ...repairsOf(isSecretName(before) ? by(set(path, before)) : []) };
  },
};

function isSecretName(name: string): boolean {
  return name !== "" && subdomainFaults(name).length === 0;
}

/** Returns the repair of a name with blanks around it, or after its namespace. */
function secretNameRepair(path: FieldPath, name: string): readonly Repair[] {
  const meantName = name.trim().replace(/^[^/]*\//, "");
  return isSecretName(meantName) ? safely(set(path, meantName)) : [];
}

declare module "../core/check.ts" {
  interface CheckInput {
    /** Like `pending`, of AWSClusterRoleIdentities. */
    readonly pendingIdentities?: PendingChanges<RoleIdentity>;
  }
}

/** A change of a CAPA identity, which the identity checks examine. */
export interface IdentityChange extends CheckContext {
  /** The object after the change; at DELETE the deleted object. */
  readonly object: JsonObject;
  readonly identity: Identity;
  /** The value of `spec.allowedNamespaces`; undefined if it is missing. */
  readonly allowed: unknown;
  /** The stored object and its identity at UPDATE; otherwise null. */
  readonly stored: { readonly object: JsonObject; readonly identity: Identity } | null;
  /** Admitted changes of other identities that the inventory does not contain yet. */
  readonly pending: PendingChanges<RoleIdentity>;
}

/** Returns the change, or null if the object is not an identity. */
export function identityChange(
  input: Pick<CheckInput, "object" | "old" | "pendingIdentities">, context: CheckContext,
): IdentityChange | null {
  const { object, old, pendingIdentities: pending = NO_CHANGES } = input;
  const { runtime } = context.settings;
  const identity = readIdentity(object, runtime);
  if (identity === null) return null;
  const before = old === null ? null : readIdentity(old, runtime);
  const stored = old === null || before === null ? null : { object: old, identity: before };
  return { ...context, object, identity, allowed: field(field(object, "spec"), "allowedNamespaces"), stored, pending };
}

const PATH = ["spec", "secretRef"] as const;

/** The Secret to which a static identity refers. `metadata` is null if the Secret does not exist. */
interface ReferredSecret {
  readonly fullName: string;
  readonly metadata: SecretMetadata | null;
}

/** Returns the Secret of a static identity. Returns null for other identities, and for a name that CI-11 rejects. */
export function secretOf(
  identity: Identity, { inventory, settings }: Pick<IdentityChange, "inventory" | "settings">,
): ReferredSecret | null {
  const { identitySecretNamespace: namespace } = settings;
  const name = identity.kind === STATIC_IDENTITY ? (identity.secretName ?? "") : "";
  if (namespace === null || name === "" || subdomainFaults(name).length > 0) return null;
  return { fullName: `${namespace}/${name}`, metadata: inventory.of(SECRETS).get(namespace, name) };
}

function* keyFaults(fullName: string, { name, state, similar }: SecretKey): Iterable<Fault> {
  if (similar !== null) {
    const message = `the Secret ${fullName} has the key ${quote(similar)}, not ${name}: the names are case-sensitive`;
    yield { path: PATH, message };
  } else if (name !== TOKEN_KEY && (state === "missing" || state === "empty")) {
    const message = `the Secret ${fullName} has ${state === "empty" ? "an empty key" : "no key"} ${name}`;
    yield { path: PATH, message, severity: "warn" };
  }
}

const MISSING_FIX = "create the Secret with the keys AccessKeyID and SecretAccessKey, or an identity that names "
  + "another Secret";

export const CI_10: QuickCheck<IdentityChange> = {
  id: "CI-10",
  severity: "deny",
  waivable: true,
  reason: "CAPA reads a missing key of the Secret as empty, so that each call to AWS fails. A key in the wrong case is "
    + "missing. The check only warns about a missing Secret and a missing or empty key, because users write identities "
    + "and Secrets in any order. It never reads a value.",
  fix: "write the keys AccessKeyID and SecretAccessKey, and for a session SessionToken, to the Secret",
  example: "# The Secret creds has the keys accessKeyID and secretAccessKey.\nspec: {secretRef: creds}",
  requires: [CAPA_NEEDS.secretNamespace, CAPA_NEEDS.secrets],
  find: (change) => secretFaults(change.identity, change),
};

/** Yields what is wrong with the Secret of a static identity. */
export function* secretFaults(
  identity: Identity, context: Pick<IdentityChange, "inventory" | "settings" | "origin">,
): Iterable<Fault> {
  const secret = secretOf(identity, context);
  if (secret === null) return;
  if (secret.metadata === null && isComplete(context)) {
    yield { path: PATH, message: `the Secret ${secret.fullName} does not exist`, fix: MISSING_FIX, severity: "warn" };
  }
  for (const key of secret.metadata?.keys ?? []) yield* keyFaults(secret.fullName, key);
}
