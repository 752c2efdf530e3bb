import { field, isJsonObject, type JsonObject, stringAt } from "../formats/json.ts";
import { type LabelSelectorSpec, readLabelSelector, stringList } from "../formats/label-selector.ts";

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
