import { type KnownFields, objectFields } from "../contract/shape.ts";
import { SELECTOR_SPEC_SCHEMA } from "./selector-schema.ts";

const text = { type: "string" } as const;
const labelSelector = {
  type: "object",
  properties: { matchLabels: { type: "object", additionalProperties: text } },
  required: ["matchLabels"],
} as const;

/**
 * The schema of the field `spec` of an IAMRoleSelector in the CustomResourceDefinition that ACK's charts install,
 * without descriptions and rules. Source: aws-controllers-k8s/runtime
 * config/crd/bases/services.k8s.aws_iamroleselectors.yaml.
 */
export const ACK_SPEC_SCHEMA = {
  type: "object",
  properties: {
    arn: text,
    namespaceSelector: {
      type: "object",
      properties: { names: { type: "array", items: text }, labelSelector },
      required: ["names"],
    },
    resourceTypeSelector: {
      type: "array",
      items: {
        type: "object",
        properties: { group: text, version: text, kind: text },
        required: ["group", "version", "kind"],
      },
    },
    resourceLabelSelector: labelSelector,
  },
  required: ["arn"],
} as const;

/** The fields of an IAMRoleSelector in ACK's CustomResourceDefinition. */
export const ACK_FIELDS = objectFields({
  properties: { spec: ACK_SPEC_SCHEMA, status: { "x-kubernetes-preserve-unknown-fields": true } },
});

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
