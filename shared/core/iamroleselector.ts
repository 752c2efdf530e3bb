import { type KnownFields, objectFields } from "./shape.ts";
import { field, isJsonObject, type JsonObject, stringAt } from "../formats/json.ts";
import { type LabelSelectorSpec, readLabelSelector, stringList } from "../formats/label-selector.ts";
import { SELECTOR_SPEC_SCHEMA } from "./selector-schema.ts";

interface NamespaceSelectorSpec {
  readonly names: readonly string[];
  readonly labelSelector: LabelSelectorSpec | null;
}

/** An entry of `resourceTypeSelector`. The value "" means that the field is missing, as in controllers. */
export interface TypeEntrySpec {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** `GROUP/VERSION`; null if missing. The field is defined only in ACK's design proposal. */
  readonly apiVersion: string | null;
}

/**
 * The fields of an IAMRoleSelector, not validated. A field is null if it is missing or of a wrong type; IRS-00 reports
 * wrong types. An invalid list element is read as an empty element, so that list positions do not change.
 */
export interface SelectorSpec {
  readonly name: string;
  readonly resourceVersion: string | null;
  readonly uid: string | null;
  readonly arn: string | null;
  readonly namespaceSelector: NamespaceSelectorSpec | null;
  readonly resourceTypeSelector: readonly TypeEntrySpec[] | null;
  readonly resourceLabelSelector: LabelSelectorSpec | null;
}

/** Reads the spec of an IAMRoleSelector. Accepts any JSON object. */
export function readSelectorSpec(object: JsonObject): SelectorSpec {
  const spec = field(object, "spec");
  const types = field(spec, "resourceTypeSelector");
  return {
    name: stringAt(object, "metadata", "name") ?? "",
    resourceVersion: stringAt(object, "metadata", "resourceVersion"),
    uid: stringAt(object, "metadata", "uid"),
    arn: stringAt(spec, "arn"),
    namespaceSelector: readNamespaceSelector(spec),
    resourceTypeSelector: Array.isArray(types) ? types.map(readTypeEntry) : null,
    resourceLabelSelector: labelSelectorAt(spec, "resourceLabelSelector"),
  };
}

function readNamespaceSelector(spec: unknown): NamespaceSelectorSpec | null {
  const selector = field(spec, "namespaceSelector");
  if (!isJsonObject(selector)) return null;
  return { names: stringList(selector, "names"), labelSelector: labelSelectorAt(selector, "labelSelector") };
}

function labelSelectorAt(parent: unknown, key: string): LabelSelectorSpec | null {
  const selector = field(parent, key);
  return isJsonObject(selector) ? readLabelSelector(selector) : null;
}

function readTypeEntry(entry: unknown): TypeEntrySpec {
  return {
    group: stringAt(entry, "group") ?? "",
    version: stringAt(entry, "version") ?? "",
    kind: stringAt(entry, "kind") ?? "",
    apiVersion: stringAt(entry, "apiVersion"),
  };
}

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
