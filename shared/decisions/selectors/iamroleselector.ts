import { field, isJsonObject, type JsonObject, stringAt, stringMap } from "../kubernetes/json.ts";

/** A label selector as it was written. Absent and null are null. */
export interface LabelSelectorSpec {
  readonly matchLabels: ReadonlyMap<string, string>;
  readonly matchExpressions: readonly LabelRequirementSpec[];
}

export interface LabelRequirementSpec {
  readonly key: string;
  readonly operator: string;
  readonly values: readonly string[];
}

/** An entry of `resourceTypeSelector` as it was written; an absent part is "", as the controllers read it. */
export interface TypeEntrySpec {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** The proposal's form of group and version, null when absent. */
  readonly apiVersion: string | null;
}

/**
 * What an IAMRoleSelector says, before anyone asks whether it is right. Values of another type than the schema's read as
 * absent (IRS-00 reports them); list positions are kept.
 */
export interface SelectorSpec {
  readonly name: string;
  readonly resourceVersion: string | null;
  readonly arn: string | null;
  readonly namespaceSelector: { readonly names: readonly string[]; readonly labelSelector: LabelSelectorSpec | null } | null;
  readonly resourceTypeSelector: readonly TypeEntrySpec[] | null;
  readonly resourceLabelSelector: LabelSelectorSpec | null;
}

export function readSelectorSpec(object: JsonObject): SelectorSpec {
  const spec = field(object, "spec");
  const namespaceSelector = field(spec, "namespaceSelector");
  const types = field(spec, "resourceTypeSelector");
  return {
    name: stringAt(object, "metadata", "name") ?? "",
    resourceVersion: stringAt(object, "metadata", "resourceVersion"),
    arn: stringAt(spec, "arn"),
    namespaceSelector: isJsonObject(namespaceSelector)
      ? { names: stringList(namespaceSelector, "names"), labelSelector: readLabelSelector(namespaceSelector, "labelSelector") }
      : null,
    resourceTypeSelector: Array.isArray(types) ? types.map(readTypeEntry) : null,
    resourceLabelSelector: readLabelSelector(spec, "resourceLabelSelector"),
  };
}

function readLabelSelector(parent: unknown, key: string): LabelSelectorSpec | null {
  const selector = field(parent, key);
  if (!isJsonObject(selector)) return null;
  const expressions = field(selector, "matchExpressions");
  return {
    matchLabels: stringMap(field(selector, "matchLabels")),
    matchExpressions: Array.isArray(expressions) ? expressions.map(readRequirement) : [],
  };
}

function readRequirement(requirement: unknown): LabelRequirementSpec {
  return {
    key: stringAt(requirement, "key") ?? "",
    operator: stringAt(requirement, "operator") ?? "",
    values: stringList(requirement, "values"),
  };
}

function readTypeEntry(entry: unknown): TypeEntrySpec {
  return {
    group: stringAt(entry, "group") ?? "",
    version: stringAt(entry, "version") ?? "",
    kind: stringAt(entry, "kind") ?? "",
    apiVersion: stringAt(entry, "apiVersion"),
  };
}

function stringList(parent: unknown, key: string): readonly string[] {
  const list = field(parent, key);
  return Array.isArray(list) ? list.map((item) => (typeof item === "string" ? item : "")) : [];
}
