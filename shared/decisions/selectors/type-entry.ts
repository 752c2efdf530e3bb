import type { Origin } from "../context.ts";
import {
  field, isJsonObject, type JsonObject, jsonPointer, type PatchOperation, stringAt,
} from "../kubernetes/json.ts";
import type { TypeEntrySpec } from "./iamroleselector.ts";

/** A kind, or with "" for a part any of them. */
export interface TypeEntry {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** What `{apiVersion: GROUP/VERSION, kind?}` means, or null when it is not of that form. */
export function rewrittenEntry({ group, version, kind, apiVersion }: TypeEntrySpec): TypeEntry | null {
  const parts = (apiVersion ?? "").split("/");
  const [entryGroup, entryVersion] = parts;
  if (parts.length !== 2 || entryGroup === undefined || entryGroup === "" || entryVersion === undefined || entryVersion === "") return null;
  return group === "" && version === "" ? { group: entryGroup, version: entryVersion, kind } : null;
}

/**
 * Whether `apiVersion` means anything: in a manifest, since admission would rewrite it, and under `extended`. Once stored,
 * shipped controllers do not see it.
 */
export function readsAPIVersion({ origin, runtime }: { readonly origin: Origin; readonly runtime: "ack" | "extended" }): boolean {
  return origin === "file" || runtime === "extended";
}

/** The entry as it takes part. */
export function effectiveEntry(entry: TypeEntrySpec, context: { readonly origin: Origin; readonly runtime: "ack" | "extended" }): TypeEntry {
  return (readsAPIVersion(context) ? rewrittenEntry(entry) : null) ?? entry;
}

export function entryHolds(entry: TypeEntry, type: TypeEntry): boolean {
  return (entry.group === "" || entry.group === type.group)
    && (entry.version === "" || entry.version === type.version)
    && (entry.kind === "" || entry.kind === type.kind);
}

/**
 * The JSON patch that rewrites each `{apiVersion, kind}` entry of an IAMRoleSelector to `{group, version, kind}`, the only
 * form that controllers understand. Entries that are not of that form stay for the checks to judge.
 */
export function rewriteTypeEntries(object: JsonObject): readonly PatchOperation[] {
  const entries = field(field(object, "spec"), "resourceTypeSelector");
  if (!Array.isArray(entries)) return [];
  return entries.flatMap((entry: unknown, i): PatchOperation[] => {
    const apiVersion = stringAt(entry, "apiVersion");
    if (!isJsonObject(entry) || apiVersion === null) return [];
    const [group, version, kind] = ["group", "version", "kind"].map((part) => field(entry, part) ?? ""); // null means absent
    if (typeof group !== "string" || typeof version !== "string" || typeof kind !== "string") return [];
    const { apiVersion: _dropped, ...rest } = entry;
    const rewritten = rewrittenEntry({ group, version, kind, apiVersion });
    if (rewritten === null) return [];
    return [{ op: "replace", path: jsonPointer("spec", "resourceTypeSelector", i), value: { ...rest, ...rewritten } }];
  });
}
