import { isSelector } from "../decisions/iamroleselector.ts";
import { field, isJsonObject, stringAt } from "../decisions/json.ts";
import type { Manifest } from "./manifest-reader.ts";

/** k8s.io/apiserver pkg/storage/names/generate.go: five characters after at most 58 of the prefix, none of them a 0, 1 or 3. */
const PREFIX_LENGTH = 58;
const SUFFIX_LENGTH = 5;

/**
 * The same manifests, in which each IAMRoleSelector with a `generateName` and no name has one such as the API server would generate,
 * `GENERATENAME00001` and so on, which it never does. Each would be a selector of its own, and selectors are known by their names.
 */
export function withGeneratedNames(manifests: readonly Manifest[]): Manifest[] {
  let count = 0;
  return manifests.map((manifest) => {
    const { object } = manifest;
    const metadata = field(object, "metadata");
    const prefix = stringAt(metadata, "generateName") ?? "";
    if (!isSelector(object) || !isJsonObject(metadata) || prefix === "" || (field(metadata, "name") ?? "") !== "") return manifest;
    count += 1;
    const name = prefix.slice(0, PREFIX_LENGTH) + String(count).padStart(SUFFIX_LENGTH, "0");
    return { ...manifest, object: { ...object, metadata: { ...metadata, name } } };
  });
}
