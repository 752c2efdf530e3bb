import type { ResourceQuery } from "../core/ack-resource.ts";
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
}

/** Returns every condition of the selector, which selects a resource for which all of them hold. */
export function conditionsOf({ namespaces, namespaceLabels, types, resourceLabels }: EffectiveSelector): Condition[] {
  const conditions: Condition[] = [];
  if (namespaces !== null) {
    conditions.push({
      path: NAMES, wants: wantsNamespaces([...namespaces]),
      compare: ({ query: { namespace } }) => ({ carries: `namespace ${namespace}`, holds: namespaces.has(namespace) }),
    });
  }
  if (namespaceLabels !== null) {
    const path = NAMESPACE_LABELS.split(".");
    conditions.push(...labelConditions(path, namespaceLabels, ({ inventory, query: { namespace } }) => ({
      labels: inventory.namespaces.labelsOf(namespace),
      note: inventory.namespaces.has(namespace) ? "" : " (unknown Namespace)",
    })));
  }
  if (types !== null) {
    conditions.push({
      path: ["spec", "resourceTypeSelector"], wants: anyOf(types.entries.map(entryText)),
      compare: ({ type }) => ({ carries: typeText(type), holds: types.matches(type) }),
    });
  }
  if (resourceLabels !== null) {
    const path = ["spec", "resourceLabelSelector"];
    conditions.push(...labelConditions(path, resourceLabels, ({ query }) => ({ labels: query.labels, note: "" })));
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

/** Returns one condition for each label and expression. */
function labelConditions(
  path: FieldPath, { matchLabels, matchExpressions }: LabelSelector, actual: (input: ComparedResource) => ActualLabels,
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
    })),
    ...matchExpressions.map((requirement, i): Condition => ({
      path: [...path, "matchExpressions", i], wants: requirementText(requirement),
      compare: (input) => ({
        carries: carried(input, requirement.key),
        holds: satisfies(actual(input).labels, { matchLabels: [], matchExpressions: [requirement] }),
      }),
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
