import { field, isJsonObject, type JsonObject, stringAt, stringMap } from "../kubernetes/json.ts";

/** A label selector as it was written. Absent and null are null. */
export interface WrittenLabelSelector {
  readonly matchLabels: ReadonlyMap<string, string>;
  readonly matchExpressions: readonly WrittenRequirement[];
}

export interface WrittenRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values: readonly string[];
}

/** An entry of `resourceTypeSelector` as it was written; an absent part is "", as the controllers read it. */
export interface WrittenTypeEntry {
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
export interface WrittenSelector {
  readonly name: string;
  readonly resourceVersion: string | null;
  readonly arn: string | null;
  readonly namespaceSelector: { readonly names: readonly string[]; readonly labelSelector: WrittenLabelSelector | null } | null;
  readonly resourceTypeSelector: readonly WrittenTypeEntry[] | null;
  readonly resourceLabelSelector: WrittenLabelSelector | null;
}

export function readSelector(object: JsonObject): WrittenSelector {
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

function readLabelSelector(parent: unknown, key: string): WrittenLabelSelector | null {
  const selector = field(parent, key);
  if (!isJsonObject(selector)) return null;
  const expressions = field(selector, "matchExpressions");
  return {
    matchLabels: stringMap(field(selector, "matchLabels")),
    matchExpressions: Array.isArray(expressions) ? expressions.map(readRequirement) : [],
  };
}

function readRequirement(requirement: unknown): WrittenRequirement {
  return {
    key: stringAt(requirement, "key") ?? "",
    operator: stringAt(requirement, "operator") ?? "",
    values: stringList(requirement, "values"),
  };
}

function readTypeEntry(entry: unknown): WrittenTypeEntry {
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
