import type { KindName } from "../formats/object-meta.ts";
import type { WatchedKind } from "../api/watched-kind.ts";
import { definedKind } from "../core/ack-groups.ts";
import { conditionsOfType } from "../core/kept-fields.ts";
import type { Kind, Watch } from "../core/kind.ts";
import type { StoreKey } from "../core/store.ts";
import { field, type JsonObject, stringAt } from "../formats/json.ts";
import { kindOf, KINDS } from "../kinds.ts";

/**
 * Returns the watched kinds of a part of the cluster, excluding the kinds whose version a definition states. The part
 * null has the kinds that every source loads. The namespace "" stands for all namespaces.
 */
export function fixedKinds(part: string | null, namespace = ""): readonly WatchedKind[] {
  return KINDS.flatMap((kind) => {
    const parts = kind.watch?.parts;
    const isOfPart = part === null ? parts === undefined : parts?.includes(part) === true;
    return isOfPart ? fixedKindsOf(kind, namespace) : [];
  });
}

/** The same for one kind of objects, which can have several types or names. */
export function fixedKindsOf({ types, served, watch }: Kind, namespace = ""): readonly WatchedKind[] {
  if (served === undefined || watch === undefined) return [];
  const { names, pageSize, metadataOnly, keep: transform } = watch;
  const { version, groups } = served;
  if (typeof types === "function" || version === "*") return [];
  const plural = groups[0]?.plurals[0] ?? "";
  return types.flatMap((type) => {
    const [kind = "", ...rest] = type.split(".");
    const watched = {
      pageSize, ...(metadataOnly && { metadataOnly }), group: rest.join("."), version, kind, plural, transform,
    };
    if (names !== undefined) return names.map((name) => ({ ...watched, object: { namespace, name } }));
    return [namespace === "" ? watched : { ...watched, namespace }];
  });
}

/** A kind that a definition defines, the parts of a cluster that contain it, and the store of its objects. */
export interface ServedKind extends WatchedKind, Pick<Kind, "feature"> {
  readonly parts: readonly string[];
  readonly store: StoreKey | null;
}

/**
 * Returns the watched kind that a transformed CustomResourceDefinition defines. The version of the kind is the stored
 * version if the API server serves it, else the first served version. Returns null if nothing reads the objects of the
 * kind, or if the kind is not served.
 */
export function servedKind(definition: JsonObject): ServedKind | null {
  const type = definedKind(definition);
  const known = kindOf({ ...type, name: "" });
  if (known?.watch === undefined || known.served?.version !== "*" || !isEstablished(definition)) return null;
  const { pageSize, parts = [], keep: transform } = known.watch;
  const spec = field(definition, "spec");
  const version = versionToList(field(spec, "versions"));
  const plural = stringAt(spec, "names", "plural");
  if (version === null || plural === null || stringAt(spec, "scope") !== scopeOf(known.watch, type)) return null;
  const { feature } = known;
  return { ...type, feature, version, plural, isDefined: true, pageSize, parts, store: storeOf(known), transform };
}

/** Returns the store that lacks objects while the kind is not listed. */
function storeOf({ store, watch }: Kind): StoreKey | null {
  return watch?.unlistedIn ?? store ?? null;
}

/** Roles are resolved only for resources in a namespace, so that resources with another scope are not read. */
function scopeOf({ isClusterScoped = () => false }: Watch, type: KindName): string {
  return isClusterScoped(type) ? "Cluster" : "Namespaced";
}

/**
 * Returns whether the condition Established is True. Until Established is True, the API server answers requests for the
 * kind with 404.
 */
function isEstablished(definition: JsonObject): boolean {
  return conditionsOfType(definition, "Established").some((condition) => stringAt(condition, "status") === "True");
}

function versionToList(versions: unknown): string | null {
  if (!Array.isArray(versions)) return null;
  const served: unknown[] = versions.filter((version) => field(version, "served") === true);
  return stringAt(served.find((version) => field(version, "storage") === true) ?? served[0], "name");
}
