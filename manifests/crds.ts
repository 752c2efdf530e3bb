import { IRS_35 } from "../shared/decisions/checks/selectors/labels.ts";
import { IRS_00 } from "../shared/decisions/checks/selectors/shape.ts";
import { IRS_12 } from "../shared/decisions/checks/selectors/types.ts";
import type { Runtime } from "../shared/decisions/context.ts";
import { SELECTOR_GROUP, SELECTOR_KIND } from "../shared/decisions/kubernetes/kinds.ts";
import { SELECTOR_SPEC_SCHEMA, type StructuralSchema } from "../shared/decisions/selectors/schema.ts";
import { labelsOf } from "./naming.ts";

/** A rule in CEL that the API server applies to a value of the schema that carries it. */
export interface ValidationRule {
  readonly rule: string;
  readonly message: string;
  readonly fieldPath?: string;
  readonly reason: "FieldValueInvalid" | "FieldValueForbidden";
}

/** A structural schema as a CustomResourceDefinition carries it. */
export interface CRDSchema extends Omit<StructuralSchema, "properties" | "additionalProperties" | "items"> {
  readonly nullable?: boolean;
  readonly properties?: Readonly<Record<string, CRDSchema>>;
  readonly additionalProperties?: CRDSchema;
  readonly items?: CRDSchema;
  readonly "x-kubernetes-validations"?: readonly ValidationRule[];
}

type Overlay = Pick<CRDSchema, "nullable" | "x-kubernetes-validations">;

/**
 * A role once set stays. The rule stands on the object, not on the field, where a transition rule is skipped when the field
 * or all of `spec` is taken away, so that a first update could remove the role and a second one set another.
 */
const ROLE_STAYS: ValidationRule = {
  rule: "!has(oldSelf.spec) || !has(oldSelf.spec.arn) || (has(self.spec) && has(self.spec.arn) && self.spec.arn == oldSelf.spec.arn)",
  fieldPath: ".spec.arn",
  reason: "FieldValueInvalid",
  message: "the role of an IAMRoleSelector cannot be changed or removed, since resources that exist in its account would be left behind there. "
    + "Create a selector of another name for the new role, and delete this one when nothing needs it.",
};

const NO_API_VERSION: ValidationRule = {
  rule: "!has(self.apiVersion)",
  fieldPath: ".apiVersion",
  reason: "FieldValueForbidden",
  message: `${IRS_12.id} apiVersion is not stored, since controllers do not read it. Instead of apiVersion: s3.services.k8s.aws/v1alpha1 `
    + "write group: s3.services.k8s.aws and version: v1alpha1. The webhook's /mutate/iamroleselectors rewrites GROUP/VERSION by itself, "
    + "where neither group nor version stands beside it: if it did not, see that it is installed.",
};

const NO_EXPRESSIONS: ValidationRule = {
  rule: "self.size() == 0",
  reason: "FieldValueForbidden",
  message: `${IRS_35.id} shipped ACK controllers drop matchExpressions and would select more than is written. Say the same with matchLabels, `
    + "or install the CRD of ack-role-resolver manifests crds --runtime extended if no shipped controller reads this selector.",
};

/** As much of a CustomResourceDefinition as ours has. */
export interface SelectorCRD {
  readonly apiVersion: "apiextensions.k8s.io/v1";
  readonly kind: "CustomResourceDefinition";
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: {
    readonly group: string;
    readonly names: Readonly<Record<"kind" | "listKind" | "plural" | "singular", string>> & { readonly categories: readonly string[] };
    readonly scope: "Cluster";
    readonly versions: readonly SelectorVersion[];
  };
}

export interface SelectorVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly schema: { readonly openAPIV3Schema: CRDSchema };
  readonly subresources: { readonly status: object };
  readonly additionalPrinterColumns: readonly { readonly name: string; readonly type: string; readonly jsonPath: string }[];
}

/**
 * `team:` without a value is null in YAML. The API server drops nulls before any webhook sees them, which would turn a label that
 * must match into none: so null is let in to be seen, and refused.
 */
const NO_NULL_LABEL: Overlay = {
  "x-kubernetes-validations": [{
    rule: "self.all(key, dyn(self[key]) != null)",
    reason: "FieldValueInvalid",
    message: `${IRS_00.id} a label has no value, only null, and would be dropped, so that more is selected than is written. `
      + 'Write the value after the colon, or "" for the empty one.',
  }],
};

/** What is laid over the schema of `spec`, by place: `.name` a field, `[]` the elements of a list, `{}` the values of a map. */
const ALWAYS: Readonly<Record<string, Overlay>> = {
  ".resourceTypeSelector[]": { "x-kubernetes-validations": [NO_API_VERSION] },
  ".namespaceSelector.labelSelector.matchLabels": NO_NULL_LABEL,
  ".namespaceSelector.labelSelector.matchLabels{}": { nullable: true },
  ".resourceLabelSelector.matchLabels": NO_NULL_LABEL,
  ".resourceLabelSelector.matchLabels{}": { nullable: true },
};

const OVERLAYS: Readonly<Record<Runtime, Readonly<Record<string, Overlay>>>> = {
  ack: {
    ...ALWAYS,
    ".namespaceSelector.labelSelector.matchExpressions": { "x-kubernetes-validations": [NO_EXPRESSIONS] },
    ".resourceLabelSelector.matchExpressions": { "x-kubernetes-validations": [NO_EXPRESSIONS] },
  },
  extended: ALWAYS,
};

function overlaid(schema: StructuralSchema, overlays: Readonly<Record<string, Overlay>>, path = ""): CRDSchema {
  const { properties, additionalProperties, items, ...rest } = schema;
  const at = (child: StructuralSchema, step: string): CRDSchema => overlaid(child, overlays, `${path}${step}`);
  return {
    ...rest,
    ...(properties === undefined ? {} : { properties: mapValues(properties, (child, name) => at(child, `.${name}`)) }),
    ...(additionalProperties === undefined ? {} : { additionalProperties: at(additionalProperties, "{}") }),
    ...(items === undefined ? {} : { items: at(items, "[]") }),
    ...overlays[path],
  };
}

function mapValues<A, B>(record: Readonly<Record<string, A>>, map: (value: A, key: string) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)] as const));
}

/**
 * The CustomResourceDefinition of IAMRoleSelector: types alone and nothing required, so that one answer of the webhook can
 * name every fault. What the rules refuse must not be stored even while no webhook runs, since controllers would not see it.
 */
export function iamRoleSelectorCRD(runtime: Runtime): SelectorCRD {
  const singular = SELECTOR_KIND.toLowerCase();
  const plural = `${singular}s`;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${SELECTOR_GROUP}`, labels: labelsOf("crds") },
    spec: {
      group: SELECTOR_GROUP,
      names: { kind: SELECTOR_KIND, listKind: `${SELECTOR_KIND}List`, plural, singular, categories: ["ack"] },
      scope: "Cluster",
      versions: [version(runtime)],
    },
  };
}

function version(runtime: Runtime): SelectorVersion {
  return {
    name: "v1alpha1",
    served: true,
    storage: true,
    schema: { openAPIV3Schema: wholeSchema(runtime) },
    subresources: { status: {} },
    additionalPrinterColumns: [
      { name: "Role ARN", type: "string", jsonPath: ".spec.arn" },
      { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
    ],
  };
}

function wholeSchema(runtime: Runtime): CRDSchema {
  return {
    type: "object",
    description: "The IAM role that ACK controllers manage the selected resources with.",
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { type: "object" },
      spec: overlaid(SELECTOR_SPEC_SCHEMA, OVERLAYS[runtime]),
      status: { type: "object", description: "Nothing writes it; it is there because the controllers' own definition has it." },
    },
    "x-kubernetes-validations": [ROLE_STAYS],
  };
}
