import { LIMITS } from "../core/limits.ts";
import { ACCOUNT_ID } from "../formats/arn.ts";
import { excessOf, field, isJsonObject, type JsonObject, stringAt } from "../formats/json.ts";
import { quote } from "../formats/text.ts";

/** The access key in the Secret of a static identity. */
export interface AccessKey {
  readonly accessKeyID: string;
  readonly secretAccessKey: string;
  /** Null for the access key of an IAM user. */
  readonly sessionToken: string | null;
}

/** The result of reading a Secret. `fault` is a clause that contains no value of the Secret. */
type AccessKeyResult =
  | { readonly key: AccessKey; readonly fault: null }
  | { readonly key: null; readonly fault: string };

// The keys that CAPA reads: kubernetes-sigs/cluster-api-provider-aws v2.10, pkg/cloud/identity/identity.go.
const ID = "AccessKeyID";
const REQUIRED_KEYS = [ID, "SecretAccessKey"] as const;
export const TOKEN_KEY = "SessionToken";
/** A session token has at most 4 KiB: https://docs.aws.amazon.com/STS/latest/APIReference/API_Credentials.html */
const MAX_LENGTH = 4_096;
const MAX_BASE64_LENGTH = Math.ceil(MAX_LENGTH / 3) * 4;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** An HTTP header can contain each valid value. */
const VALUE = /^[!-~]+$/;

/** Reads the access key in a Secret. The names of the keys are case-sensitive, as in shipped CAPA. */
export function readAccessKey(secret: JsonObject): AccessKeyResult {
  const data = field(secret, "data");
  const faults = [...REQUIRED_KEYS, TOKEN_KEY].flatMap((name) => keyFault(data, name) ?? []);
  if (faults.length > 0) return { key: null, fault: faults.join("; ") };
  const [accessKeyID = "", secretAccessKey = "", sessionToken = null] = [...REQUIRED_KEYS, TOKEN_KEY].map((name) => {
    const text = stringAt(data, name);
    return text === null || text === "" ? undefined : Buffer.from(text, "base64").toString();
  });
  return { key: { accessKeyID, secretAccessKey, sessionToken }, fault: null };
}

function keyFault(data: unknown, name: string): string | null {
  const text = stringAt(data, name) ?? "";
  if (text === "") {
    if (name === TOKEN_KEY) return null;
    const present = stringAt(data, name) !== null;
    return present ? `its key ${name} is empty` : `its key ${name} is missing${similarText(data, name)}`;
  }
  if (text.length > MAX_BASE64_LENGTH) return `the value of its key ${name} has more than ${MAX_LENGTH} bytes`;
  const value = BASE64.test(text) ? Buffer.from(text, "base64").toString() : "";
  if (!VALUE.test(value)) return `the value of its key ${name} is not printable ASCII without spaces and newlines`;
  return name === ID && looksSecret(value) ? `the value of its key ${ID} looks like a secret access key` : null;
}

/**
 * Whether the text has the form of a secret access key. The access key ID is sent to STS in plain text, so a secret
 * access key in its place would be revealed. The ID of an access key has only uppercase letters and digits.
 */
function looksSecret(text: string): boolean {
  return /^[A-Za-z0-9/+]{40}$/.test(text) && /[a-z/+]/.test(text);
}

/** Returns the key that differs from `name` only in its case, as text for a message. */
function similarText(data: unknown, name: string): string {
  const similar = similarKey(typeof data === "object" && data !== null ? Object.keys(data) : [], name);
  return similar === null ? "" : ` (it has ${quote(similar)}, but the names are case-sensitive)`;
}

/** Returns the first key that differs from `name` only in its case, or null. */
function similarKey(keys: Iterable<string>, name: string): string | null {
  for (const key of keys) if (key !== name && key.toLowerCase() === name.toLowerCase()) return key;
  return null;
}

/** A key that CAPA reads from the Secret of a static identity. */
export interface SecretKey {
  readonly name: string;
  /** `unknown` if the Secret may have the key, although no manager lists it. */
  readonly state: "present" | "empty" | "missing" | "unknown";
  /** A key of the Secret that differs only in its case. Null if the Secret has the key, or no such key. */
  readonly similar: string | null;
}

/** Identifies a content of a Secret. A manifest has neither value. */
export interface SecretVersion {
  readonly uid: string | null;
  readonly resourceVersion: string | null;
}

/** The metadata of a Secret. Contains no value of the Secret. */
export interface SecretMetadata extends SecretVersion {
  /** The keys that CAPA reads. Null if the names of the keys are unknown. */
  readonly keys: readonly SecretKey[] | null;
}

const READ_KEYS = [...REQUIRED_KEYS, TOKEN_KEY];
/** `managedFields[].fieldsV1.f:data.f:KEY` has 5 levels. */
const BOUNDS = { maxDepth: 16, maxValues: LIMITS.secretFields.value };

/**
 * Reads the names of the keys of a Secret. In a cluster, the names are in `metadata.managedFields`, because only the
 * metadata of Secrets is read. In a manifest, they are in `data` and `stringData`.
 */
export function readSecretMetadata(secret: JsonObject): SecretMetadata {
  const metadata = field(secret, "metadata");
  const managers = managersOf(field(metadata, "managedFields"));
  return { ...readSecretVersion(secret), keys: keysInManifest(secret) ?? keysInManagers(managers) };
}

export function readSecretVersion(secret: JsonObject): SecretVersion {
  const metadata = field(secret, "metadata");
  return { uid: stringAt(metadata, "uid"), resourceVersion: stringAt(metadata, "resourceVersion") };
}

/**
 * Returns the entry of the ConfigMap of accounts for a Secret: the account of its access key, and the content that has
 * this key. Any change of the Secret makes the entry invalid.
 */
export function accountEntry(accountID: string, { uid, resourceVersion }: SecretVersion): string {
  return `${accountID} as of ${uid}/${resourceVersion}`;
}

/** Returns the account in an entry; null if the entry is not about this content of the Secret. */
export function accountInEntry(entry: string, { uid, resourceVersion }: SecretVersion): string | null {
  const [accountID = ""] = entry.split(" ", 1);
  if (uid === null || resourceVersion === null || !ACCOUNT_ID.test(accountID)) return null;
  return entry === accountEntry(accountID, { uid, resourceVersion }) ? accountID : null;
}

/** Returns the keys of the maps `data` and `stringData`, or null if the Secret has neither map. */
function keysInManifest(secret: JsonObject): SecretKey[] | null {
  const maps = [field(secret, "data"), field(secret, "stringData")].filter(isJsonObject);
  if (maps.length === 0 || maps.some((map) => excessOf(map, BOUNDS) !== null)) return null;
  const names = maps.flatMap((map) => Object.keys(map));
  // The API server writes `stringData` over `data`.
  const isEmpty = (name: string): boolean => {
    const last = maps.findLast((map) => Object.hasOwn(map, name));
    return (field(last, name) ?? "") === "";
  };
  return READ_KEYS.map((name): SecretKey => {
    if (!names.includes(name)) return { name, state: "missing", similar: similarKey(names, name) };
    return { name, state: isEmpty(name) ? "empty" : "present", similar: null };
  });
}

/** Returns null if no manager owns a key: the managed fields were deleted, or the Secret is older than they are. */
function keysInManagers(managers: readonly unknown[]): SecretKey[] | null {
  const names = managers.flatMap(keysOf);
  if (names.length === 0) return null;
  // After a server-side apply of `stringData`, no manager owns the keys in `data`. The Secret then keeps a key that the
  // next apply does not contain.
  const isComplete = managers.every((manager) => fieldsOf(manager, "f:stringData").length === 0);
  return READ_KEYS.map((name): SecretKey => {
    if (names.includes(name)) return { name, state: "present", similar: null };
    const similar = similarKey(names, name);
    return { name, state: isComplete || similar !== null ? "missing" : "unknown", similar };
  });
}

/** Returns the entries of `managedFields`, or [] if they exceed the limit. */
function managersOf(managedFields: unknown): readonly unknown[] {
  return Array.isArray(managedFields) && excessOf(managedFields, BOUNDS) === null ? managedFields : [];
}

/** Returns the keys of the Secret that a manager owns. */
function keysOf(manager: unknown): string[] {
  return [...fieldsOf(manager, "f:data"), ...fieldsOf(manager, "f:stringData")];
}

/** Returns the fields of a map that a manager owns: `{"f:data": {".": {}, "f:AccessKeyID": {}}}`. */
function fieldsOf(manager: unknown, map: "f:data" | "f:stringData"): string[] {
  const owned = field(field(manager, "fieldsV1"), map);
  if (!isJsonObject(owned)) return [];
  return Object.keys(owned).flatMap((name) => (name.startsWith("f:") ? [name.slice("f:".length)] : []));
}
