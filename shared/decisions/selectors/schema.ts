/** The part of a structural schema (OpenAPI v3 as CustomResourceDefinitions take it) that ours uses. */
export interface StructuralSchema {
  readonly type: "object" | "array" | "string";
  readonly description?: string;
  readonly properties?: Readonly<Record<string, StructuralSchema>>;
  readonly additionalProperties?: StructuralSchema;
  readonly items?: StructuralSchema;
  readonly maxItems?: number;
  readonly maxLength?: number;
}

const text = (description: string): StructuralSchema => ({ type: "string", description });
const stringMap: StructuralSchema = { type: "object", additionalProperties: { type: "string" } };

const labelSelector = (description: string): StructuralSchema => ({
  type: "object",
  description,
  properties: {
    matchLabels: stringMap,
    matchExpressions: {
      type: "array",
      description: "Not understood by shipped ACK controllers, which would drop it and select more than is written.",
      items: {
        type: "object",
        properties: {
          key: { type: "string" },
          operator: { type: "string", description: "In, NotIn, Exists or DoesNotExist" },
          values: { type: "array", items: { type: "string" } },
        },
      },
    },
  },
});

/**
 * `spec` of an IAMRoleSelector: types alone, nothing required, so that one admission review can list every fault.
 * Field by field as aws-controllers-k8s/runtime apis/core/v1alpha1/iam_role_selector.go, and beside them what users write
 * in the proposal's form (`apiVersion`, `matchExpressions`), so that it is seen and not pruned.
 */
export const SELECTOR_SPEC_SCHEMA: StructuralSchema = {
  type: "object",
  description: "Which IAM role ACK resources are managed with. Every part that is absent or empty holds for every resource; the parts are ANDed.",
  properties: {
    arn: text("The IAM role: arn:PARTITION:iam::ACCOUNT:role/PATH/NAME."),
    namespaceSelector: {
      type: "object",
      description: "The namespaces: by name AND by label.",
      properties: {
        names: { type: "array", description: "Exact names; no wildcards.", items: { type: "string" } },
        labelSelector: labelSelector("Labels of the namespace."),
      },
    },
    resourceTypeSelector: {
      type: "array",
      description: "The kinds: one entry has to hold.",
      items: {
        type: "object",
        properties: {
          group: text("API group such as s3.services.k8s.aws; empty for any."),
          version: text("API version such as v1alpha1; empty for any."),
          kind: text("Kind such as Bucket; empty for any."),
          apiVersion: text("GROUP/VERSION, which the admission webhook rewrites to group and version; never stored."),
        },
      },
    },
    resourceLabelSelector: labelSelector("Labels of the resource."),
  },
};

const anything = {};
const optionalText = { type: ["string", "null"] };
/** A null value here reads as "" (the API server decodes metadata by its own types, not by a CRD's schema). */
const metadataMap = { type: ["object", "null"], additionalProperties: optionalText };

// Fields of ObjectMeta: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/
const metadata = {
  type: "object",
  properties: {
    name: optionalText,
    generateName: optionalText,
    namespace: optionalText,
    labels: metadataMap,
    annotations: metadataMap,
    finalizers: { type: ["array", "null"], items: { type: "string" } },
    ownerReferences: { type: ["array", "null"], items: { type: "object" } },
    ...Object.fromEntries(
      ["uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "managedFields"]
        .map((name) => [name, anything]),
    ),
  },
  additionalProperties: false,
};

/**
 * The JSON schema of a whole IAMRoleSelector as a strict API server takes it (field validation `Strict`): no unknown field,
 * null only where it means absent.
 */
export const STRICT_SELECTOR_SCHEMA = {
  $id: "IAMRoleSelector",
  type: "object",
  properties: {
    apiVersion: { type: "string" },
    kind: { type: "string" },
    metadata,
    spec: strict(SELECTOR_SPEC_SCHEMA, true),
    status: { type: ["object", "null"], properties: {}, additionalProperties: false },
  },
  additionalProperties: false,
};

/** Null stands for an absent field, but never for a list element or a map's value. */
function strict(schema: StructuralSchema, optional: boolean): object {
  const type = optional ? [schema.type, "null"] : schema.type;
  if (schema.items !== undefined) return { type, items: strict(schema.items, false) };
  if (schema.additionalProperties !== undefined) {
    return { type, additionalProperties: strict(schema.additionalProperties, false) };
  }
  if (schema.properties === undefined) return { type };
  const properties = Object.entries(schema.properties).map(([name, child]) => [name, strict(child, true)] as const);
  return { type, properties: Object.fromEntries(properties), additionalProperties: false };
}
