import { isSelector } from "../decisions/iamroleselector.ts";
import { field, isJsonObject, stringAt } from "../decisions/json.ts";
import type { Manifest } from "./manifest-reader.ts";

/**
 * The same manifests, in which each IAMRoleSelector without a name has one that stands for what the API server would generate:
 * `GENERATENAME*`, the next of that form `GENERATENAME*2`. Each would be a selector of its own, and selectors are known by their
 * names. No real name has a `*`.
 */
export function withGeneratedNames(manifests: readonly Manifest[]): Manifest[] {
  const counts = new Map<string, number>();
  return manifests.map((manifest) => {
    const { object } = manifest;
    const metadata = field(object, "metadata") ?? {};
    // A name of another type stays as it is: the checks tell of it.
    if (!isSelector(object) || !isJsonObject(metadata) || (field(metadata, "name") ?? "") !== "") return manifest;
    const prefix = stringAt(metadata, "generateName") ?? "";
    const count = (counts.get(prefix) ?? 0) + 1;
    counts.set(prefix, count);
    return { ...manifest, object: { ...object, metadata: { ...metadata, name: `${prefix}*${count === 1 ? "" : count}` } } };
  });
}
