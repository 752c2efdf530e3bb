import { excessOf } from "../kubernetes/bounds.ts";
import { field, isJsonObject, type JsonObject } from "../kubernetes/json.ts";
import { LIMITS } from "../limits.ts";
import { REQUIRED_KEYS, similarKey, TOKEN_KEY } from "./secret-keys.ts";

/** A key that CAPA reads from the Secret of a static identity. */
export interface SecretKey {
  readonly name: string;
  /** `unknown` if the Secret may have the key, although no manager lists it. */
  readonly state: "present" | "empty" | "missing" | "unknown";
  /** A key of the Secret that differs only in its case. Null if the Secret has the key, or no such key. */
  readonly similar: string | null;
}

/** The metadata of a Secret. Contains no value of the Secret. */
export interface SecretMetadata {
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
  const managers = managersOf(field(field(secret, "metadata"), "managedFields"));
  return { keys: keysInManifest(secret) ?? keysInManagers(managers) };
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
