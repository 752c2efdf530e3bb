import type { ResourceQuery } from "../core/ack-resource.ts";
import { SELECTOR_GROUP, SELECTOR_KIND } from "../core/ack-groups.ts";
import { type Edit, type ObjectName, set } from "../core/repair.ts";
import { type FieldPath, formatFieldPath } from "../formats/json.ts";
import { type LabelRequirement, type Labels, type LabelSelector, satisfies } from "../formats/label-selector.ts";
import { printable } from "../formats/text.ts";
import type { Inventory } from "../core/inventory.ts";
import type { EffectiveSelector } from "../core/effective-selector.ts";
import type { TypeEntry } from "../core/resource-types.ts";

/** A resource that is compared with the conditions of selectors. */
export interface ComparedResource {
  readonly inventory: Inventory;
  readonly query: ResourceQuery;
  readonly type: TypeEntry;
}

/** What a resource has where a selector has a condition. */
interface Comparison {
  readonly carries: string;
  readonly holds: boolean;
}

/** A condition of a selector. */
interface Condition {
  readonly path: FieldPath;
  readonly wants: string;
  readonly compare: (input: ComparedResource) => Comparison;
  /** Returns the edit after which the resource meets the condition; null if no single value does. */
  readonly satisfy: (query: ResourceQuery) => Edit | null;
}

/** Returns the name of a selector in an edit of another object. */
export function selectorName(name: string): ObjectName {
  return { apiVersion: `${SELECTOR_GROUP}/v1alpha1`, kind: SELECTOR_KIND, namespace: null, name };
}

/** Returns the name of a Namespace in an edit of another object. */
function namespaceName(name: string): ObjectName {
  return { apiVersion: "v1", kind: "Namespace", namespace: null, name };
}

/** Returns every condition of the selector, which selects a resource for which all of them hold. */
export function conditionsOf(selector: EffectiveSelector): Condition[] {
  const { namespaces, namespaceLabels, types, resourceLabels } = selector;
  const of = selectorName(selector.name);
  const conditions: Condition[] = [];
  if (namespaces !== null) {
    conditions.push({
      path: NAMES, wants: wantsNamespaces([...namespaces]),
      compare: ({ query: { namespace } }) => ({ carries: `namespace ${namespace}`, holds: namespaces.has(namespace) }),
      satisfy: ({ namespace }) => ({ of, ...set([...NAMES, namespaces.size], namespace) }),
    });
  }
  if (namespaceLabels !== null) {
    const path = NAMESPACE_LABELS.split(".");
    conditions.push(...labelConditions(path, namespaceLabels, ({ inventory, query: { namespace } }) => ({
      labels: inventory.namespaces.labelsOf(namespace),
      note: inventory.namespaces.has(namespace) ? "" : " (unknown Namespace)",
    }), ({ namespace }) => namespaceName(namespace)));
  }
  if (types !== null) {
    conditions.push({
      path: TYPES, wants: anyOf(types.entries.map(entryText)),
      compare: ({ type }) => ({ carries: typeText(type), holds: types.matches(type) }),
      satisfy: ({ group, kind }) => ({ of, ...set([...TYPES, types.entries.length], { group, version: "", kind }) }),
    });
  }
  if (resourceLabels !== null) {
    const path = ["spec", "resourceLabelSelector"];
    const actual = ({ query: { labels } }: ComparedResource): ActualLabels => ({ labels, note: "" });
    conditions.push(...labelConditions(path, resourceLabels, actual, () => null));
  }
  return conditions;
}

/** Returns each condition of a selector, such as `spec.namespaceSelector.names: namespace team-a`. */
export function conditionTexts(selector: EffectiveSelector): string[] {
  return conditionsOf(selector).map(({ path, wants }) => `${formatFieldPath(path)}: ${printable(wants)}`);
}

/** The field of the conditions on labels of the namespace. */
export const NAMESPACE_LABELS = "spec.namespaceSelector.labelSelector";

const NAMES: FieldPath = ["spec", "namespaceSelector", "names"];
const TYPES: FieldPath = ["spec", "resourceTypeSelector"];

/** Returns the condition of a selector that names the namespaces. */
export function namespacesText(names: readonly string[]): string {
  return `${formatFieldPath(NAMES)}: ${printable(wantsNamespaces(names))}`;
}

function wantsNamespaces(names: readonly string[]): string {
  return `namespace ${anyOf(names)}`;
}

interface ActualLabels {
  readonly labels: Labels;
  /** A note that is appended if a label is missing. */
  readonly note: string;
}

/** Returns one condition for each label and expression. `owner` returns what has the labels; null for the resource. */
function labelConditions(
  path: FieldPath, { matchLabels, matchExpressions }: LabelSelector, actual: (input: ComparedResource) => ActualLabels,
  owner: (query: ResourceQuery) => ObjectName | null,
): Condition[] {
  const carried = (input: ComparedResource, key: string): string => {
    const { labels, note } = actual(input);
    const value = labels.get(key);
    return value === undefined ? `no label ${key}${note}` : `${key}=${value}`;
  };
  return [
    ...matchLabels.map(([key, value]): Condition => ({
      path: [...path, "matchLabels", { key }], wants: `${key}=${value}`,
      compare: (input) => ({ carries: carried(input, key), holds: actual(input).labels.get(key) === value }),
      satisfy: (query) => {
        const of = owner(query);
        return { ...set(["metadata", "labels", { key }], value), ...(of !== null && { of }) };
      },
    })),
    ...matchExpressions.map((requirement, i): Condition => ({
      path: [...path, "matchExpressions", i], wants: requirementText(requirement),
      compare: (input) => ({
        carries: carried(input, requirement.key),
        holds: satisfies(actual(input).labels, { matchLabels: [], matchExpressions: [requirement] }),
      }),
      satisfy: () => null,
    })),
  ];
}

/** Formats a requirement in the syntax of `kubectl get -l`. */
function requirementText({ key, operator, values }: LabelRequirement): string {
  if (operator === "Exists") return key;
  if (operator === "DoesNotExist") return `!${key}`;
  return `${key} ${operator === "In" ? "in" : "notin"} (${values.join(", ")})`;
}

function entryText({ group, version, kind }: TypeEntry): string {
  const named = [version, group].filter((text) => text !== "").join(".");
  if (kind === "") return `any kind of ${version !== "" && group === "" ? `version ${version}` : named}`;
  return named === "" ? `${kind} of any group` : `${kind}.${named}`;
}

function typeText({ group, version, kind }: TypeEntry): string {
  return `${kind}.${version}.${group}`;
}

const MAX_ALTERNATIVES = 10;

function anyOf(texts: readonly string[]): string {
  const more = texts.length - MAX_ALTERNATIVES;
  const shown = more > 0 ? [...texts.slice(0, MAX_ALTERNATIVES), `${more} others`] : texts;
  return shown.join(" or ");
}
