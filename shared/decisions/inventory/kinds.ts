import { field, type JsonObject, stringAt } from "../kubernetes/json.ts";
import { isACKGroup, SELECTOR_GROUP, SELECTOR_KIND } from "../kubernetes/kinds.ts";
import { objectMeta } from "../kubernetes/object-meta.ts";
import { type KnownFields, objectFields } from "../kubernetes/shape.ts";
import type { TypeEntry } from "../selectors/type-entry.ts";

/** The versions of a kind, as its CustomResourceDefinition has them. */
export interface KindVersions {
  readonly storage: string;
  readonly served: readonly string[];
}

/** What an inventory keeps of CustomResourceDefinitions. */
export class KindStore {
  /** By `GROUP/KIND`. */
  readonly #kinds = new Map<string, KindVersions>();
  /** The key in `#kinds` by the definition's name, which is all that its removal tells. */
  readonly #keys = new Map<string, string>();
  #selectorFields: KnownFields | null = null;

  get size(): number {
    return this.#kinds.size;
  }

  put(definition: JsonObject): void {
    const spec = field(definition, "spec");
    const listed = field(spec, "versions");
    const versions: unknown[] = Array.isArray(listed) ? listed : [];
    const stored = versions.find((one) => field(one, "storage") === true);
    const storage = stringAt(stored, "name");
    const { name } = objectMeta(definition);
    this.remove(name);
    const key = keyOf(stringAt(spec, "group") ?? "", stringAt(spec, "names", "kind") ?? "");
    this.#keys.set(name, key);
    if (storage === null) return;
    const served = versions.filter((one) => field(one, "served") === true).map((one) => stringAt(one, "name"));
    this.#kinds.set(key, { storage, served: served.filter((version) => version !== null) });
    if (key === SELECTORS) this.#selectorFields = fieldsOf(stored);
  }

  remove(name: string): void {
    const key = this.#keys.get(name);
    if (key === undefined) return;
    this.#keys.delete(name);
    this.#kinds.delete(key);
    if (key === SELECTORS) this.#selectorFields = null;
  }

  /** Null when the kind is not known. */
  versions(group: string, kind: string): KindVersions | null {
    return this.#kinds.get(keyOf(group, kind)) ?? null;
  }

  /** The ACK kinds that are installed, in the version that is stored. */
  *installedTypes(): Iterable<TypeEntry> {
    for (const [key, { storage }] of this.#kinds) {
      const [group = "", kind = ""] = key.split("/");
      if (isACKGroup(group)) yield { group, version: storage, kind };
    }
  }

  /** The fields of an IAMRoleSelector that the cluster knows, or null where its definition is not known. */
  get selectorFields(): KnownFields | null {
    return this.#selectorFields;
  }
}

const SELECTORS = keyOf(SELECTOR_GROUP, SELECTOR_KIND);

function keyOf(group: string, kind: string): string {
  return `${group}/${kind}`;
}

/** Null where the version carries no schema. */
function fieldsOf(version: unknown): KnownFields | null {
  const schema = field(field(version, "schema"), "openAPIV3Schema");
  return schema === undefined ? null : objectFields(schema);
}
