import type { Origin, Runtime } from "./context.ts";
import { LIMITS } from "./limits.ts";
import { field, isJsonObject, type JsonObject, jsonPointer, type PatchOperation, stringAt } from "../formats/json.ts";
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
export function completeEntry(entry: JsonObject): JsonObject | null {
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

/**
 * The maximum number of entries that are compared one by one. Up to this number, a comparison is faster than an index
 * and needs no memory.
 */
const MAX_UNINDEXED = 8;

type KindIndex = Map<string, Set<string>>;

const NONE: ReadonlySet<string> = new Set();

/** The entries of a `resourceTypeSelector`. The time of a lookup does not depend on the number of entries. */
export class TypeSet {
  readonly entries: readonly TypeEntry[];
  /** The groups that the entries name. The set contains "" if an entry matches any group. */
  readonly groups: ReadonlySet<string>;
  /** The versions of the entries by group and kind, where "" means any. The index is null until the first lookup. */
  #index: Map<string, KindIndex> | null = null;

  constructor(entries: readonly TypeEntry[]) {
    this.entries = entries;
    this.groups = new Set(entries.map(({ group }) => group));
  }

  /** Whether an entry matches the type. An empty field of the type means a value that no entry names. */
  matches(type: TypeEntry): boolean {
    if (this.entries.length <= MAX_UNINDEXED) return this.entries.some((entry) => entryMatches(entry, type));
    for (const versions of this.#versionSets(type.group, type.kind)) {
      if (versions.has("") || versions.has(type.version)) return true;
    }
    return false;
  }

  /** Whether an entry can match a kind of the group. */
  coversGroup(group: string): boolean {
    return this.groups.has("") || this.groups.has(group);
  }

  /**
   * Returns the kinds of the entries that match the group. The result contains "" if one of these entries matches any
   * kind.
   */
  kindsOf(group: string): ReadonlySet<string> {
    return new Set(this.#kindIndexes(group).flatMap((kinds) => [...kinds.keys()]));
  }

  /**
   * Returns the versions of the entries that match the kind. The result contains "" if one of these entries matches any
   * version.
   */
  versionsOf(group: string, kind: string): ReadonlySet<string> {
    return new Set([...this.#versionSets(group, kind)].flatMap((versions) => [...versions]));
  }

  /** Yields the versions of the entries that match the kind. */
  *#versionSets(group: string, kind: string): Iterable<ReadonlySet<string>> {
    for (const kinds of this.#kindIndexes(group)) {
      yield kinds.get(kind) ?? NONE;
      yield kinds.get("") ?? NONE;
    }
  }

  #kindIndexes(group: string): KindIndex[] {
    const index = (this.#index ??= indexOf(this.entries));
    const kinds = group === "" ? [index.get("")] : [index.get(group), index.get("")];
    return kinds.filter((one) => one !== undefined);
  }
}

function indexOf(entries: readonly TypeEntry[]): Map<string, KindIndex> {
  const index = new Map<string, KindIndex>();
  for (const { group, version, kind } of entries) {
    const kinds = index.get(group) ?? new Map<string, Set<string>>();
    const versions = kinds.get(kind) ?? new Set<string>();
    index.set(group, kinds.set(kind, versions.add(version)));
  }
  return index;
}
