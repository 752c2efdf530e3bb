import { objectFields } from "../kubernetes/shape.ts";

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
