import {
  ACCOUNT_OF_CAPA, CONTROLLER_IDENTITY, CONTROLLER_IDENTITY_NAME, identityKindOf, type IdentityReference,
  INFRASTRUCTURE_GROUP, ROLE_IDENTITY, SERVICE_ACCOUNT_IDENTITY, STATIC_IDENTITY,
} from "../core/capa-kinds.ts";
import type { Runtime } from "../core/context.ts";
import { objectExcess } from "../core/limits.ts";
import { ACCOUNT_ID, accountOfARN } from "../formats/arn.ts";
import { field, isJsonObject, type JsonObject, stringAt, stringMap } from "../formats/json.ts";
import { stringList } from "../formats/label-selector.ts";
import { subdomainFaults } from "../formats/names.ts";
import { namespaceOrDefault, objectReference } from "../formats/object-meta.ts";
import { compareText, quote } from "../formats/text.ts";
import { type AllowedNamespaces, readAllowedNamespaces } from "./allowed-namespaces.ts";
import { type SessionTag, STS_AUDIENCE } from "../core/session.ts";

/**
 * Returns a key of the identity to which a reference in `namespace` refers. Only an AWSServiceAccountIdentity belongs
 * to a namespace. The key is JSON, because the names in a manifest can contain any character.
 */
export function referenceKey({ kind, name }: IdentityReference, namespace: string): string {
  return JSON.stringify([kind, kind === SERVICE_ACCOUNT_IDENTITY ? namespace : "", name]);
}

/** Returns the key of the identity. */
export function identityKey(identity: Pick<Identity, "kind" | "name" | "namespace">): string {
  return referenceKey(identity, identity.namespace);
}

interface CommonFields {
  readonly name: string;
  /** The namespace of an AWSServiceAccountIdentity. "" for the other kinds, which are cluster-scoped. */
  readonly namespace: string;
  /** Null for an identity in a manifest. */
  readonly uid: string | null;
  readonly resourceVersion: string | null;
}

/** An identity that its own field `allowedNamespaces` restricts. */
interface ClusterScopedFields extends CommonFields {
  readonly allowedNamespaces: AllowedNamespaces;
}

interface ControllerIdentity extends ClusterScopedFields {
  readonly kind: typeof CONTROLLER_IDENTITY;
}

export interface StaticIdentity extends ClusterScopedFields {
  readonly kind: typeof STATIC_IDENTITY;
  /** The name of the Secret in the namespace of CAPA; null if it is missing or not a string. */
  readonly secretName: string | null;
}

/** The parameters of AssumeRole in an identity, not validated. A missing parameter is null or []. */
export interface RoleFields {
  readonly roleARN: string | null;
  readonly sessionName: string | null;
  readonly durationSeconds: number | null;
  readonly inlinePolicy: string | null;
  readonly policyARNs: readonly string[];
  /** Sorted by key. */
  readonly tags: readonly SessionTag[];
  readonly transitiveTags: readonly string[];
  /** The names of the fields whose value has a wrong type. Such a value is treated as missing. */
  readonly mistyped: readonly string[];
  /** The limit that the object exceeds; absent if it exceeds none. The lists and maps of the object are not read. */
  readonly excess?: string;
}

export interface RoleIdentity extends ClusterScopedFields, RoleFields {
  readonly kind: typeof ROLE_IDENTITY;
  readonly externalID: string | null;
  /** The identity that assumes the role; null if it is missing in shipped CAPA, which then uses its own credentials. */
  readonly source: IdentityReference | null;
}

/** An identity that only objects of its own namespace can use. */
export interface ServiceAccountIdentity extends CommonFields, RoleFields {
  readonly kind: typeof SERVICE_ACCOUNT_IDENTITY;
  /** The audiences of the token. */
  readonly audiences: readonly string[];
  /** The requested lifetime of the token. */
  readonly expirationSeconds: number;
}

export type Identity = ControllerIdentity | StaticIdentity | RoleIdentity | ServiceAccountIdentity;

const DEFAULT_EXPIRATION_SECONDS = 86_400;

/** Reads an identity. Returns null if the object is not an identity. Accepts any JSON object. */
export function readIdentity(object: JsonObject, runtime: Runtime): Identity | null {
  const { group, kind: kindName, name, namespace } = objectReference(object);
  const kind = group === INFRASTRUCTURE_GROUP ? identityKindOf(kindName) : null;
  if (kind === null) return null;
  const metadata = field(object, "metadata");
  const [uid, resourceVersion] = [stringAt(metadata, "uid"), stringAt(metadata, "resourceVersion")];
  const meta = { name, namespace: "", uid, resourceVersion };
  const { spec, ...limits } = boundedSpec(object);
  if (kind === SERVICE_ACCOUNT_IDENTITY) {
    const account = { ...readServiceAccount(spec), ...limits };
    return { ...meta, kind, namespace: namespaceOrDefault(namespace), ...account };
  }
  const common = { ...meta, allowedNamespaces: allowedBy(spec, limits, runtime) };
  if (kind === CONTROLLER_IDENTITY) return { ...common, kind };
  if (kind === STATIC_IDENTITY) return { ...common, kind, secretName: stringAt(spec, "secretRef") };
  const missing = runtime === "ack" ? null : { kind: CONTROLLER_IDENTITY, name: CONTROLLER_IDENTITY_NAME };
  const source = readReference(field(spec, "sourceIdentityRef")) ?? missing;
  return { ...common, kind, ...readRole(spec), ...limits, externalID: textAt(spec, "externalID"), source };
}

/** Returns the account of the role of the identity; null if the identity has no role, or if its role is not an ARN. */
export function accountOfIdentity(identity: Identity): string | null {
  return "roleARN" in identity && identity.roleARN !== null ? accountOfARN(identity.roleARN) : null;
}

/** Returns the reference, or null if it is missing. A reference that is not an object has an empty kind and name. */
export function readReference(value: unknown): IdentityReference | null {
  if (value === undefined || value === null) return null;
  return { kind: stringAt(value, "kind") ?? "", name: stringAt(value, "name") ?? "" };
}

/** An identity that exceeds a limit allows no namespace. */
function allowedBy(spec: unknown, { excess }: Pick<RoleFields, "excess">, runtime: Runtime): AllowedNamespaces {
  if (excess !== undefined) return { type: "none", reason: excess };
  return readAllowedNamespaces(field(spec, "allowedNamespaces"), runtime);
}

/** Returns the spec. If the object exceeds a limit, the only object in the spec is the reference to the source. */
function boundedSpec(object: JsonObject): Pick<RoleFields, "excess"> & { readonly spec: unknown } {
  const excess = objectExcess(object);
  const spec = field(object, "spec");
  if (excess === null) return { spec };
  const names = ["roleARN", "sessionName", "externalID", "durationSeconds", "inlinePolicy", "secretRef"];
  const values = names.map((name) => [name, field(spec, name)] as const);
  const scalars = values.filter(([, value]) => typeof value !== "object");
  const sourceIdentityRef = field(spec, "sourceIdentityRef");
  return { excess: excess.message, spec: { ...Object.fromEntries(scalars), sourceIdentityRef } };
}

function readRole(spec: unknown): RoleFields {
  return {
    roleARN: stringAt(spec, "roleARN"),
    sessionName: textAt(spec, "sessionName"),
    durationSeconds: integerAt(spec, "durationSeconds"),
    inlinePolicy: textAt(spec, "inlinePolicy"),
    policyARNs: stringList(spec, "policyARNs"),
    tags: readTags(field(spec, "tags")),
    transitiveTags: stringList(spec, "transitiveTags"),
    mistyped: mistypedFields(spec, ROLE_TYPES),
  };
}

/** The type of a field of an identity. */
export type FieldType = "string" | "integer" | "list of strings" | "map of strings" | "object";

export function hasType(value: unknown, type: FieldType): boolean {
  if (type === "string") return typeof value === "string";
  if (type === "integer") return Number.isSafeInteger(value);
  if (type === "list of strings") return Array.isArray(value) && value.every((item) => typeof item === "string");
  if (!isJsonObject(value)) return false;
  return type === "object" || Object.values(value).every((item) => typeof item === "string");
}

type FieldTypes = Readonly<Record<string, FieldType>>;
const ROLE_TYPES: FieldTypes = {
  roleARN: "string", sessionName: "string", externalID: "string", inlinePolicy: "string", durationSeconds: "integer",
  policyARNs: "list of strings", transitiveTags: "list of strings", tags: "map of strings",
};
const TOKEN_TYPES: FieldTypes = { audiences: "list of strings", expirationSeconds: "integer" };

/** The types of the fields of `spec`, by kind, without `allowedNamespaces`. */
export const FIELD_TYPES: Readonly<Record<Identity["kind"], FieldTypes>> = {
  [CONTROLLER_IDENTITY]: {},
  [STATIC_IDENTITY]: { secretRef: "string" },
  [ROLE_IDENTITY]: { ...ROLE_TYPES, sourceIdentityRef: "object" },
  [SERVICE_ACCOUNT_IDENTITY]: { ...ROLE_TYPES, ...TOKEN_TYPES },
};

function mistypedFields(spec: unknown, types: FieldTypes): string[] {
  return Object.entries(types).flatMap(([name, type]) => {
    const value = field(spec, name) ?? null;
    return value === null || hasType(value, type) ? [] : [name];
  });
}

function readServiceAccount(spec: unknown): Omit<ServiceAccountIdentity, keyof CommonFields | "kind"> {
  const [role, audiences] = [readRole(spec), stringList(spec, "audiences")];
  return {
    ...role,
    mistyped: [...role.mistyped, ...mistypedFields(spec, TOKEN_TYPES)],
    audiences: audiences.length === 0 ? [STS_AUDIENCE] : audiences,
    expirationSeconds: integerAt(spec, "expirationSeconds") ?? DEFAULT_EXPIRATION_SECONDS,
  };
}

/** Returns the string, or null if it is missing, empty or not a string. CAPA treats an empty string as missing. */
function textAt(spec: unknown, name: string): string | null {
  const text = stringAt(spec, name);
  return text === "" ? null : text;
}

/** Returns the integer, or null if it is missing, 0 or not an integer. CAPA treats 0 as missing. */
function integerAt(spec: unknown, name: string): number | null {
  const value = field(spec, name);
  return typeof value === "number" && Number.isSafeInteger(value) && value !== 0 ? value : null;
}

/** Reads tags in the form `{KEY: VALUE}`. */
function readTags(value: unknown): SessionTag[] {
  if (!isJsonObject(value)) return [];
  const tags = Array.from(stringMap(value), ([key, text]) => ({ key, value: text }));
  return tags.toSorted((a, b) => compareText(a.key, b.key));
}

const ACCOUNT_OF_SECRET = "the account of Secret ";

/** The accounts that identities do not contain. */
export interface KnownAccounts {
  /** Null if it is unknown. */
  readonly ofCAPA: string | null;
  /** Returns the account of the access key in the Secret of a static identity; null if it is unknown. */
  readonly ofSecret: (name: string) => string | null;
}

const NONE_KNOWN: KnownAccounts = { ofCAPA: null, ofSecret: () => null };

/** Returns the text for the unknown account of a Secret. Quotes a name that no Secret can have, which can be long. */
export function accountOfSecret(name: string): string {
  return `${ACCOUNT_OF_SECRET}${subdomainFaults(name).length === 0 ? name : quote(name)}`;
}

/** Whether the `accountText` stands for the unknown account of a Secret, which can be the same as another account. */
export function isUnknownAccount(text: string): boolean {
  return text.startsWith(ACCOUNT_OF_SECRET);
}

/**
 * Returns a text that names the account of an object that uses the identity, such as `account 111122223333` or `the
 * account of Secret creds`. Two objects are in the same account if their texts are equal. Returns null if the account
 * is unknown. `reference` is null if CAPA uses its own credentials without an identity. `identity` is null if it does
 * not exist.
 */
export function accountText(
  reference: IdentityReference | null, identity: Identity | null, { ofCAPA, ofSecret }: KnownAccounts = NONE_KNOWN,
): string | null {
  if (reference === null || reference.kind === CONTROLLER_IDENTITY) {
    return ofCAPA === null ? ACCOUNT_OF_CAPA : `account ${ofCAPA}`;
  }
  if (identity === null) return null;
  if (identity.kind === STATIC_IDENTITY) return staticAccountText(identity.secretName ?? "", ofSecret);
  const account = accountOfIdentity(identity);
  // CAPA accepts any text as a role.
  return account === null || !ACCOUNT_ID.test(account) ? null : `account ${account}`;
}

function staticAccountText(secretName: string, ofSecret: KnownAccounts["ofSecret"]): string {
  const known = ofSecret(secretName);
  return known === null ? accountOfSecret(secretName) : `account ${known}`;
}
