import type { FieldPath, JsonObject } from "../formats/json.ts";

/** An object that a controller creates from others, and that no manifest contains. */
export interface DerivedObject {
  readonly object: JsonObject;
  /** The object of which a user writes the fields. */
  readonly from: JsonObject;
  /** Returns the path of the field in `from` that a field of the object results from. */
  readonly pathOf: (path: FieldPath) => FieldPath;
  /** The values in any object from which the object results, so that they are judged with it. */
  readonly reads: readonly { readonly object: JsonObject; readonly value: unknown }[];
}

/** What controllers create from the objects of manifests. */
export interface Derivation {
  readonly objects: readonly DerivedObject[];
  /** The objects from which something results that cannot be computed, once for each result. */
  readonly unknown: readonly JsonObject[];
}
