/** The part of a structural schema (OpenAPI v3 in a CustomResourceDefinition) that this project uses. */
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
      description: "Shipped ACK controllers ignore this field, so the selector selects more resources than intended.",
      items: {
        type: "object",
        properties: {
          key: { type: "string" },
          operator: { type: "string", description: "In, NotIn, Exists or DoesNotExist." },
          values: { type: "array", items: { type: "string" } },
        },
      },
    },
  },
});

/**
 * The schema of the field `spec` of an IAMRoleSelector. The schema has types but no required fields, so that one
 * admission review can list every fault. The fields are those of aws-controllers-k8s/runtime
 * apis/core/v1alpha1/iam_role_selector.go. The schema also has the fields of ACK's design proposal (`apiVersion`,
 * `matchExpressions`), which the API server would otherwise prune.
 */
export const SELECTOR_SPEC_SCHEMA: StructuralSchema = {
  type: "object",
  description: "The IAM role for a set of ACK resources. A resource must match every field; an empty field matches "
    + "every resource.",
  properties: {
    arn: text("The ARN of the IAM role: arn:PARTITION:iam::ACCOUNT:role/PATH/NAME."),
    namespaceSelector: {
      type: "object",
      description: "Selects namespaces. A namespace must match both names and labelSelector.",
      properties: {
        names: { type: "array", description: "Exact namespace names, without wildcards.", items: { type: "string" } },
        labelSelector: labelSelector("The labels that the namespace must have."),
      },
    },
    resourceTypeSelector: {
      type: "array",
      description: "Selects kinds. A resource must match one entry.",
      items: {
        type: "object",
        properties: {
          group: text("API group such as s3.services.k8s.aws; empty for any."),
          version: text("API version such as v1alpha1; empty for any."),
          kind: text("Kind such as Bucket; empty for any."),
          apiVersion: text(
            "GROUP/VERSION. The admission webhook replaces this field with the fields group and version.",
          ),
        },
      },
    },
    resourceLabelSelector: labelSelector("The labels that the resource must have."),
  },
};

const anything = {};
const optionalText = { type: ["string", "null"] };
/**
 * A map of strings in the metadata. A null value is read as "", because the API server decodes metadata without the
 * schema of the CRD.
 */
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
      [
        "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
        "selfLink", "managedFields",
      ].map((name) => [name, anything]),
    ),
  },
  additionalProperties: false,
};

/**
 * The JSON schema of an IAMRoleSelector that the API server accepts with field validation `Strict`. The schema allows
 * no unknown fields, and allows null only for a missing value.
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

/** Returns the strict form of a schema. Null is allowed for a field, but not for a list element or a map value. */
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
