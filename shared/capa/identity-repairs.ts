import { findFaults, type QuickCheck } from "../core/check.ts";
import { applyEdits, by, type Edit, remove, rename, type Repair, safely, set } from "../core/repair.ts";
import { type FieldPath, isJsonObject, type JsonObject, valueAt } from "../formats/json.ts";
import { labelKeyFaults, labelValueFaults } from "../formats/names.ts";
import { readAllowedNamespaces } from "./allowed-namespaces.ts";
import { CI_05, CI_06 } from "./identity-allowed.ts";
import { identityChange, type IdentityChange } from "./identity-change.ts";
import { CI_20, CI_21, CI_22, CI_23, CI_24, CI_37 } from "./identity-role.ts";
import type { FieldType } from "./identity.ts";

// The repairs of fields that the schema of an identity does not allow.

const ALLOWED = ["spec", "allowedNamespaces"] as const;

/** The checks that a corrected field must pass. */
const CHECKS: readonly QuickCheck<IdentityChange>[] = [CI_05, CI_06, CI_20, CI_21, CI_22, CI_23, CI_24, CI_37];

/** Returns the denials of the identity with the edits. */
function denialsWith(change: IdentityChange, edits: readonly Edit[]): readonly string[] {
  const object = { ...applyEdits(change.object, edits) };
  const changed = identityChange({ object, old: change.stored?.object ?? null }, change);
  return changed === null ? [] : CHECKS.flatMap((check) => (
    Array.from(findFaults(check, changed), ({ message, severity }) => (severity === "warn" ? "" : message))
  ));
}

/** Returns the edits as a safe repair if they add no denial. */
export function accepted(change: IdentityChange, ...edits: readonly Edit[]): readonly Repair[] {
  const before = new Set(["", ...denialsWith(change, [])]);
  return denialsWith(change, edits).every((message) => before.has(message)) ? safely(...edits) : [];
}

/** A field that the schema does not allow. */
export interface Misfit {
  readonly path: FieldPath;
  /** The name that is meant, if the field has another one. */
  readonly meant?: string;
  /** The type of the schema, if the value has another one. */
  readonly type?: FieldType;
}

/** Returns the repairs of a field with a wrong name or a wrong type. An external ID is never in an edit. */
export function misfitRepairs(change: IdentityChange, { path, meant, type }: Misfit): readonly Repair[] {
  if (path.includes("externalID") || meant === "externalID") return [];
  const value = valueAt(change.object, path);
  if (meant !== undefined) {
    const isFree = valueAt(change.object, [...path.slice(0, -1), meant]) === undefined;
    return isFree ? accepted(change, ...rename(path, meant, value)) : by(remove(path));
  }
  const converted = convertedTo(type, path, value);
  return converted === undefined ? [] : accepted(change, set(path, converted));
}

function convertedTo(type: FieldType | undefined, path: FieldPath, value: unknown): unknown {
  if (type === "string") return asText(path.at(-1), value);
  if (type === "integer") return typeof value === "string" && NUMBER.test(value) ? Number(value) : undefined;
  if (type === "list of strings") return textsOf([value].flat());
  if (type === "map of strings") return isJsonObject(value) ? mapOf(value) : undefined;
  const isList = path.at(-1) === "allowedNamespaces" && Array.isArray(value);
  return isList ? { list: value } : undefined;
}

const NUMBER = /^[1-9][0-9]{0,8}$/;

function asText(name: unknown, value: unknown): string | undefined {
  if (isScalar(value)) return String(value);
  if (name === "inlinePolicy") return JSON.stringify(value);
  const secret = isJsonObject(value) && Object.keys(value).length === 1 ? value["name"] : undefined;
  return name === "secretRef" && typeof secret === "string" ? secret : undefined;
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

function textsOf(values: readonly unknown[]): readonly string[] | undefined {
  return values.every(isScalar) ? values.map(String) : undefined;
}

function mapOf(value: JsonObject): JsonObject | undefined {
  const texts = textsOf(Object.values(value));
  return texts && Object.fromEntries(Object.keys(value).map((key, i) => [key, texts[i]]));
}

/** Returns the repair of the value of a label that is not a text. */
export function labelRepairs(path: FieldPath, key: string, value: unknown): readonly Repair[] {
  const text = isScalar(value) ? String(value) : null;
  const isValid = text !== null && labelKeyFaults(key).length + labelValueFaults(text).length === 0;
  return isValid ? safely(set(path, text)) : [];
}

/** The number of fields above which repairs are not searched, which takes time. */
const MAX_FIELDS = 20;

/**
 * Returns the repairs of a field of `allowedNamespaces` that the API server prunes. `meant` is null if no field is
 * similar: without the field, the identity must not allow every namespace.
 */
export function prunedRepairs(change: IdentityChange, path: FieldPath, meant: string | null): readonly Repair[] {
  const parent = path.slice(0, -1);
  if (Object.keys(Object(valueAt(change.object, parent))).length > MAX_FIELDS) return [];
  const isFree = meant !== null && valueAt(change.object, [...parent, meant]) === undefined;
  const edits = isFree ? rename(path, meant, valueAt(change.object, path)) : [remove(path)];
  const allowed = valueAt(applyEdits(change.object, edits), ALLOWED);
  const after = readAllowedNamespaces(allowed, "extended");
  if (after.type !== "some" || after.selectorFault !== null) return [];
  return isFree ? accepted(change, ...edits) : by(...edits);
}
