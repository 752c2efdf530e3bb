import { field, isJsonObject, stringAt } from "../../decisions/kubernetes/json.ts";
import { isSelector } from "../../decisions/kubernetes/kinds.ts";
import type { Manifest } from "./reader.ts";

/**
 * The API server generates a name from at most 58 characters of `generateName` and a random suffix of 5 characters. The
 * suffix never contains 0, 1 or 3 (k8s.io/apiserver pkg/storage/names/generate.go).
 */
const PREFIX_LENGTH = 58;
const SUFFIX_LENGTH = 5;

/**
 * Sets a name on each IAMRoleSelector that has a `generateName` but no name, because selectors are identified by name.
 * The names are `GENERATENAME00001` and so on, which the API server never generates.
 */
export function generateNames(manifests: readonly Manifest[]): Manifest[] {
  let count = 0;
  return manifests.map((manifest) => {
    const { object } = manifest;
    const metadata = field(object, "metadata");
    const prefix = stringAt(metadata, "generateName") ?? "";
    if (!isSelector(object) || !isJsonObject(metadata) || prefix === "") return manifest;
    if ((field(metadata, "name") ?? "") !== "") return manifest;
    count += 1;
    const name = prefix.slice(0, PREFIX_LENGTH) + String(count).padStart(SUFFIX_LENGTH, "0");
    return { ...manifest, object: { ...object, metadata: { ...metadata, name } } };
  });
}
