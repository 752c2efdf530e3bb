import type {
  V1CustomResourceDefinition, V1CustomResourceDefinitionSpec, V1CustomResourceDefinitionVersion,
} from "@kubernetes/client-node";
import { IRS_35 } from "../shared/ack/selector-matches.ts";
import { IRS_00 } from "../shared/ack/selector-shape.ts";
import { IRS_12 } from "../shared/ack/selector-types.ts";
import type { Runtime } from "../shared/core/context.ts";
import { SELECTOR_GROUP, SELECTOR_KIND } from "../shared/core/ack-groups.ts";
import { SELECTOR_SPEC_SCHEMA, type StructuralSchema } from "../shared/core/selector-schema.ts";
import { labelsOf } from "../shared/core/installation.ts";

/** A CEL rule in a schema. The API server applies the rule to each value of the schema. */
interface ValidationRule {
  readonly rule: string;
  readonly message: string;
  readonly fieldPath?: string;
  readonly reason: "FieldValueInvalid" | "FieldValueForbidden";
}

/** A structural schema in a CustomResourceDefinition. */
export interface CRDSchema extends Omit<StructuralSchema, "properties" | "additionalProperties" | "items"> {
  readonly nullable?: boolean;
  readonly properties?: Readonly<Record<string, CRDSchema>>;
  readonly additionalProperties?: CRDSchema;
  readonly items?: CRDSchema;
  readonly "x-kubernetes-validations"?: readonly ValidationRule[];
}

type Overlay = Pick<CRDSchema, "nullable" | "x-kubernetes-validations">;

/**
 * The role of a selector cannot be changed or removed. The rule is on the object, because the API server skips a
 * transition rule on a field if an update removes the field or `spec`. With a rule on the field, a first update could
 * remove the role, and a second update could set a different role.
 */
const ROLE_STAYS: ValidationRule = {
  rule: "!has(oldSelf.spec) || !has(oldSelf.spec.arn) || "
    + "(has(self.spec) && has(self.spec.arn) && self.spec.arn == oldSelf.spec.arn)",
  fieldPath: ".spec.arn",
  reason: "FieldValueInvalid",
  message: "the role of an IAMRoleSelector cannot be changed or removed: "
    + "existing resources in the role's account would be orphaned. "
    + "Create a selector with another name for the new role. "
    + "Delete this selector when no resource needs this selector.",
};

const NO_API_VERSION: ValidationRule = {
  rule: "!has(self.apiVersion)",
  fieldPath: ".apiVersion",
  reason: "FieldValueForbidden",
  message: `${IRS_12.id} apiVersion is not stored, because controllers do not read it. `
    + "Write group: s3.services.k8s.aws and version: v1alpha1 instead of apiVersion: s3.services.k8s.aws/v1alpha1. "
    + "The webhook path /mutate/iamroleselectors rewrites an entry that has only apiVersion and kind. "
    + "If the webhook did not rewrite the entry, check that the webhook is installed.",
};

const NO_EXPRESSIONS: ValidationRule = {
  rule: "self.size() == 0",
  reason: "FieldValueForbidden",
  message: `${IRS_35.id} shipped ACK controllers ignore matchExpressions `
    + "and would select more resources than intended. Use matchLabels. If no shipped controller reads this selector, "
    + "install the CRD that ack-role-resolver manifests crds --runtime extended prints.",
};

/**
 * In YAML, `team:` has the value null. The API server drops a null value before it calls a webhook, unless the schema
 * allows null. The selector would then match more resources than intended. The schema therefore allows null, and this
 * rule rejects null.
 */
const NO_NULL_LABEL: Overlay = {
  "x-kubernetes-validations": [{
    rule: "self.all(key, dyn(self[key]) != null)",
    reason: "FieldValueInvalid",
    message: `${IRS_00.id} a label value is null: the API server would drop the label, `
      + "and the selector would match more resources than intended. "
      + 'Write the value after the colon, or "" for an empty value.',
  }],
};

/**
 * Additions to the schema of `spec`, by path. In a path, `.name` is a field, `[]` the elements of a list, and `{}` the
 * values of a map.
 */
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

function withOverlays(
  schema: StructuralSchema, overlays: Readonly<Record<string, Overlay>>, path = "",
): CRDSchema {
  const { properties, additionalProperties, items, ...rest } = schema;
  const at = (child: StructuralSchema, step: string): CRDSchema => withOverlays(child, overlays, `${path}${step}`);
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
 * Returns the CustomResourceDefinition of IAMRoleSelector. The schema contains only types and requires no field, so
 * that the webhook can report every fault in one response. The rules reject invalid objects even if the webhook is not
 * installed.
 */
export function iamRoleSelectorCRD(runtime: Runtime): CRD {
  const schema: CRDSchema = {
    type: "object",
    description: "Selects the IAM role that ACK controllers assume to manage the selected resources.",
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { type: "object" },
      spec: withOverlays(SELECTOR_SPEC_SCHEMA, OVERLAYS[runtime]),
      status: { type: "object", description: "This field is unused. ACK's definition also has this field." },
    },
    "x-kubernetes-validations": [ROLE_STAYS],
  };
  const names = { kind: SELECTOR_KIND, plural: `${SELECTOR_KIND.toLowerCase()}s`, category: "ack" };
  const version = { name: "v1alpha1", schema, role: ".spec.arn", subresources: { status: {} } };
  return definition(SELECTOR_GROUP, names, "Cluster", version);
}

/** A CustomResourceDefinition with the schema as it is written: client-node has other names for some keywords. */
export type CRD<Schema = CRDSchema> = Required<Pick<V1CustomResourceDefinition, "apiVersion" | "kind">> & {
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: Omit<V1CustomResourceDefinitionSpec, "versions"> & {
    readonly versions: readonly (Omit<V1CustomResourceDefinitionVersion, "schema"> & {
      readonly schema: { readonly openAPIV3Schema: Schema };
    })[];
  };
};

/** Returns a definition with one version. `role` is the path of the role that kubectl prints. */
export function definition<Schema>(
  group: string, { kind, plural, category }: { kind: string; plural: string; category: string },
  scope: "Cluster" | "Namespaced",
  { name, schema, role, ...more }: { name: string; schema: Schema; role: string; subresources?: { status: object } },
): CRD<Schema> {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}`, labels: labelsOf("crds") },
    spec: {
      group,
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase(), categories: [category] },
      scope,
      versions: [{
        name, served: true, storage: true, schema: { openAPIV3Schema: schema }, ...more,
        additionalPrinterColumns: [
          { name: "Role ARN", type: "string", jsonPath: role },
          { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
        ],
      }],
    },
  };
}
