import { type KnownFields, objectFields } from "../kubernetes/shape.ts";
import { SELECTOR_SPEC_SCHEMA } from "./schema.ts";

const DOCUMENTED = objectFields({ properties: { spec: SELECTOR_SPEC_SCHEMA } });

/**
 * Returns the documented fields of an IAMRoleSelector that a CustomResourceDefinition does not define, such as
 * `spec.resourceTypeSelector[].apiVersion`. The API server prunes these fields before it calls the webhook. Names only
 * the outermost field if a whole object is missing.
 */
export function prunedFields(served: KnownFields): string[] {
  return [...missingFrom(served, DOCUMENTED, "")];
}

function* missingFrom(served: KnownFields, documented: KnownFields, path: string): Iterable<string> {
  for (const [name, fields] of documented.properties) {
    const own = served.properties.get(name) ?? served.values;
    const at = path === "" ? name : `${path}.${name}`;
    if (own !== null) yield* missingFrom(own, fields, at);
    else if (!served.preservesUnknown) yield at;
  }
  if (documented.items !== null && served.items !== null) {
    yield* missingFrom(served.items, documented.items, `${path}[]`);
  }
}
