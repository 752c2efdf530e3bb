import type { Origin, Runtime } from "../context.ts";
import {
  field, isJsonObject, type JsonObject, jsonPointer, type PatchOperation, stringAt,
} from "../kubernetes/json.ts";
import { LIMITS } from "../limits.ts";
import type { TypeEntrySpec } from "./iamroleselector.ts";

/** An entry of `resourceTypeSelector`. An empty field matches any value. */
export interface TypeEntry {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

interface Context {
  readonly origin: Origin;
  readonly runtime: Runtime;
}

/**
 * Converts an entry `{apiVersion: GROUP/VERSION, kind?}` to group, version and kind. Returns null if the entry does not
 * have this form.
 */
export function rewrittenEntry({ group, version, kind, apiVersion }: TypeEntrySpec): TypeEntry | null {
  if (group !== "" || version !== "") return null;
  const [entryGroup = "", entryVersion = "", ...rest] = (apiVersion ?? "").split("/");
  if (rest.length > 0 || entryGroup === "" || entryVersion === "") return null;
  return { group: entryGroup, version: entryVersion, kind };
}

/**
 * Whether the `apiVersion` of an entry has an effect. In a manifest, `apiVersion` has an effect because the webhook
 * rewrites it. In a stored selector, `apiVersion` has an effect only with `--runtime extended`.
 */
export function readsAPIVersion({ origin, runtime }: Context): boolean {
  return origin === "file" || runtime === "extended";
}

/** Returns the entry as controllers match it. */
export function effectiveEntry(entry: TypeEntrySpec, context: Context): TypeEntry {
  return (readsAPIVersion(context) ? rewrittenEntry(entry) : null) ?? entry;
}

/** Whether the entry matches a type. An empty field of the type means a value that no entry names. */
export function entryMatches(entry: TypeEntry, type: TypeEntry): boolean {
  return (entry.group === "" || entry.group === type.group)
    && (entry.version === "" || entry.version === type.version)
    && (entry.kind === "" || entry.kind === type.kind);
}

/**
 * Returns the JSON patch that rewrites each entry of an IAMRoleSelector to `{group, version, kind}`. Controllers do not
 * read `apiVersion`, and ACK's CustomResourceDefinition requires all three fields. Does not change an entry that has a
 * fault, which the checks report. If the selector has too many entries, changes none of them.
 */
export function rewriteTypeEntries(object: JsonObject): readonly PatchOperation[] {
  const entries = field(field(object, "spec"), "resourceTypeSelector");
  if (!Array.isArray(entries) || entries.length > LIMITS.selectorTypes.value) return [];
  return entries.flatMap((entry: unknown, i): PatchOperation[] => {
    const value = isJsonObject(entry) ? completeEntry(entry) : null;
    return value === null ? [] : [{ op: "replace", path: jsonPointer("spec", "resourceTypeSelector", i), value }];
  });
}

/** Returns the entry with a group, a version and a kind. Returns null if the entry is complete or has a fault. */
function completeEntry(entry: JsonObject): JsonObject | null {
  const { apiVersion = null, ...rest } = entry;
  // Null means absent.
  const [group, version, kind] = ["group", "version", "kind"].map((part) => field(entry, part) ?? "");
  if (typeof group !== "string" || typeof version !== "string" || typeof kind !== "string") return null;
  if (apiVersion !== null) {
    const rewritten = rewrittenEntry({ group, version, kind, apiVersion: stringAt(entry, "apiVersion") });
    return rewritten === null ? null : { ...rest, ...rewritten };
  }
  const isComplete = ["group", "version", "kind"].every((part) => typeof field(entry, part) === "string");
  return isComplete && !Object.hasOwn(entry, "apiVersion") ? null : { ...rest, group, version, kind };
}
