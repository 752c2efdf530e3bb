import { definedKind, isACKGroup, SELECTOR_GROUP, SELECTOR_KIND } from "./ack-groups.ts";
import type { TypeEntry } from "./resource-types.ts";
import { type KnownFields, objectFields } from "./shape.ts";
import type { StoreKey } from "./store.ts";
import { TypeIndex } from "./type-index.ts";
import { field, type JsonObject, stringAt } from "../formats/json.ts";
import { type ObjectID, objectReference } from "../formats/object-meta.ts";

/** The versions of a kind in its CustomResourceDefinition. */
interface KindVersions {
  /** The name of the kind in URLs. */
  readonly plural: string;
  /** The UID of the CustomResourceDefinition; null if it is in a manifest. */
  readonly uid: string | null;
  readonly storage: string;
  readonly served: readonly string[];
}

/** The kinds of an inventory, read from CustomResourceDefinitions. */
export class KindStore {
  /** By `GROUP/KIND`. */
  readonly #kinds = new Map<string, KindVersions>();
  /**
   * Maps the name of a CustomResourceDefinition to its key in `#kinds`. The map is necessary because the removal of a
   * CustomResourceDefinition specifies only its name.
   */
  readonly #keys = new Map<string, string>();
  #selectorFields: KnownFields | null = null;
  #installed: TypeIndex | null = null;
  #defined: TypeIndex | null = null;
  #served: ReadonlyMap<string, ReadonlySet<string>> | null = null;

  get size(): number {
    return this.#kinds.size;
  }

  put(definition: JsonObject): void {
    const listed = field(field(definition, "spec"), "versions");
    const versions: unknown[] = Array.isArray(listed) ? listed : [];
    const stored = versions.find((version) => field(version, "storage") === true);
    const storage = stringAt(stored, "name");
    const { name } = objectReference(definition);
    const { group, kind } = definedKind(definition);
    this.remove({ name });
    [this.#installed, this.#defined, this.#served] = [null, null, null];
    const key = kindKey(group, kind);
    this.#keys.set(name, key);
    if (storage === null) return;
    const served = versions.filter((version) => field(version, "served") === true);
    const names = served.map((version) => stringAt(version, "name"));
    const plural = stringAt(definition, "spec", "names", "plural") ?? "";
    const uid = stringAt(definition, "metadata", "uid");
    this.#kinds.set(key, { plural, uid, storage, served: names.filter((version) => version !== null) });
    if (key === SELECTORS) this.#selectorFields = fieldsOf(stored);
  }

  remove({ name }: Pick<ObjectID, "name">): void {
    const key = this.#keys.get(name);
    if (key === undefined) return;
    this.#keys.delete(name);
    this.#kinds.delete(key);
    [this.#installed, this.#defined, this.#served] = [null, null, null];
    if (key === SELECTORS) this.#selectorFields = null;
  }

  /** Returns the versions of the kind, or null if its CustomResourceDefinition is unknown. */
  versions(group: string, kind: string): KindVersions | null {
    return this.#kinds.get(kindKey(group, kind)) ?? null;
  }

  /** Returns the version in which to read and write objects: the storage version if it is served; null if none is. */
  servedVersion(group: string, kind: string): string | null {
    const { storage, served = [] } = this.versions(group, kind) ?? {};
    return served.find((version) => version === storage) ?? served[0] ?? null;
  }

  /** Returns the kinds of the group that definitions serve; null if no definition of the group is known. */
  servedKinds(group: string): ReadonlySet<string> | null {
    this.#served ??= this.#servedByGroup();
    return this.#served.get(group) ?? null;
  }

  #servedByGroup(): ReadonlyMap<string, ReadonlySet<string>> {
    const byGroup = new Map<string, Set<string>>();
    for (const [key, { served }] of this.#kinds) {
      const [group = "", kind = ""] = key.split("/");
      const kinds = byGroup.get(group) ?? new Set();
      byGroup.set(group, served.length === 0 ? kinds : kinds.add(kind));
    }
    return byGroup;
  }

  /** Returns the kind in its storage version, which is the version that controllers compare. */
  typeOf({ group, version, kind }: TypeEntry): TypeEntry {
    return { group, version: this.versions(group, kind)?.storage ?? version, kind };
  }

  /** Yields the installed ACK kinds and their storage versions. */
  *installedTypes(): Iterable<TypeEntry> {
    for (const [key, { storage }] of this.#kinds) {
      const [group = "", kind = ""] = key.split("/");
      if (isACKGroup(group)) yield { group, version: storage, kind };
    }
  }

  /** The installed ACK kinds in their storage versions. */
  get installed(): TypeIndex {
    this.#installed ??= new TypeIndex(this.installedTypes());
    return this.#installed;
  }

  /** The installed ACK kinds in every version that is stored or served. */
  get defined(): TypeIndex {
    this.#defined ??= new TypeIndex(this.definedTypes());
    return this.#defined;
  }

  /** Yields the installed ACK kinds, once for each version that is stored or served. */
  *definedTypes(): Iterable<TypeEntry> {
    for (const [key, { storage, served }] of this.#kinds) {
      const [group = "", kind = ""] = key.split("/");
      if (isACKGroup(group)) for (const version of new Set([storage, ...served])) yield { group, version, kind };
    }
  }

  /** Yields the group and the kind of each CustomResourceDefinition, also of IAMRoleSelector, and its UID and name. */
  *definitions(): Iterable<{
    readonly group: string; readonly kind: string; readonly name: string; readonly uid: string | null;
  }> {
    for (const [name, key] of this.#keys) {
      const [group = "", kind = ""] = key.split("/");
      yield { group, kind, name, uid: this.#kinds.get(key)?.uid ?? null };
    }
  }

  /** The API groups of the installed ACK kinds. */
  get groups(): ReadonlySet<string> {
    return new Set(Array.from(this.installedTypes(), ({ group }) => group));
  }

  /** The IAMRoleSelector fields that the cluster stores; null if the CustomResourceDefinition is unknown. */
  get selectorFields(): KnownFields | null {
    return this.#selectorFields;
  }
}

const SELECTORS = kindKey(SELECTOR_GROUP, SELECTOR_KIND);

function kindKey(group: string, kind: string): string {
  return `${group}/${kind}`;
}

/** Returns the fields in the schema of a version, or null if the version has no schema. */
function fieldsOf(version: unknown): KnownFields | null {
  const schema = field(field(version, "schema"), "openAPIV3Schema");
  return schema === undefined ? null : objectFields(schema);
}

/** The store of CustomResourceDefinitions. */
export const KINDS_OF_CLUSTER: StoreKey<KindStore> = { name: "kinds", open: () => new KindStore() };
