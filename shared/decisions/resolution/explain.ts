import type { Inventory } from "../inventory/inventory.ts";
import type { ResourceQuery } from "../kubernetes/ack-resource.ts";
import { type FieldPath, formatFieldPath } from "../kubernetes/field-path.ts";
import { type LabelRequirement, type Labels, type LabelSelector, labelsSatisfy } from "../kubernetes/label-selector.ts";
import { compareText, printable } from "../kubernetes/text.ts";
import type { DecodedSelector } from "../selectors/decode.ts";
import type { EffectiveSelector } from "../selectors/effective.ts";
import { entryHolds, type TypeEntry } from "../selectors/type-entry.ts";

/** One thing that a selector asks for, and what the resource or its namespace has instead or as well. */
export interface PartExplanation {
  /** Where the selector says it. */
  readonly path: string;
  readonly wants: string;
  readonly carries: string;
  readonly holds: boolean;
}

/** Why a selector selects a resource or does not: it does when every part holds, and when it has none. */
export interface SelectorExplanation {
  readonly selector: string;
  readonly selects: boolean;
  /** A malformed selector takes no part, so nothing else of it was looked at. */
  readonly malformed: boolean;
  readonly parts: readonly PartExplanation[];
  /** One sentence that says the same. */
  readonly message: string;
}

/** Explains every selector there is to one resource, sorted by name. It costs as much as there are selectors. */
export function explain(inventory: Inventory, query: ResourceQuery): SelectorExplanation[] {
  const type = inventory.typeOf(query);
  const explained = [
    ...[...inventory.selectors.values()].map((selector) => explainSelector(selector, partsOf(selector, { inventory, query, type }))),
    ...[...inventory.malformed.values()].map(explainMalformed),
  ];
  return explained.toSorted((a, b) => compareText(a.selector, b.selector));
}

interface Asked {
  readonly inventory: Inventory;
  readonly query: ResourceQuery;
  readonly type: TypeEntry;
}

function explainMalformed({ name, faults }: DecodedSelector): SelectorExplanation {
  const decisive = faults.filter(({ check, fault }) => fault.dropsSelector === true || (check.severity === "deny" && !check.waivable));
  const dropped = decisive.map(({ check, fault }) => `${check.id} ${formatFieldPath(fault.path)}: ${fault.message}`);
  return { selector: name, selects: false, malformed: true, parts: [], message: `It is malformed and takes no part: ${dropped.join("; ")}.` };
}

function explainSelector({ name }: EffectiveSelector, parts: readonly PartExplanation[]): SelectorExplanation {
  const failing = parts.filter(({ holds }) => !holds);
  return { selector: name, selects: failing.length === 0, malformed: false, parts, message: messageOf(parts, failing) };
}

function messageOf(parts: readonly PartExplanation[], failing: readonly PartExplanation[]): string {
  if (parts.length === 0) return "It restricts nothing, so it selects every resource.";
  if (failing.length === 0) return "It selects the resource: every part holds.";
  return `It does not select the resource: ${failing.map(partText).join("; ")}.`;
}

/** `PATH: selector wants X, resource carries Y`. */
export function partText({ path, wants, carries }: PartExplanation): string {
  return `${path}: selector wants ${wants}, resource carries ${carries}`;
}

function partsOf(selector: EffectiveSelector, { inventory, query, type }: Asked): PartExplanation[] {
  const { namespaces, namespaceLabels, types, resourceLabels } = selector;
  const parts: PartExplanation[] = [];
  if (namespaces !== null) {
    parts.push(part(["spec", "namespaceSelector", "names"], {
      wants: `namespace ${either([...namespaces])}`, carries: `namespace ${query.namespace}`, holds: namespaces.has(query.namespace),
    }));
  }
  if (namespaceLabels !== null) {
    const absent = inventory.hasNamespace(query.namespace) ? "" : " (the Namespace is not known)";
    parts.push(...labelParts(["spec", "namespaceSelector", "labelSelector"], namespaceLabels, { labels: inventory.namespaceLabels(query.namespace), absent }));
  }
  if (types !== null) {
    parts.push(part(["spec", "resourceTypeSelector"], {
      wants: either(types.map(entryText)), carries: typeText(type), holds: types.some((entry) => entryHolds(entry, type)),
    }));
  }
  if (resourceLabels !== null) parts.push(...labelParts(["spec", "resourceLabelSelector"], resourceLabels, { labels: query.labels, absent: "" }));
  return parts;
}

interface Carried {
  readonly labels: Labels;
  /** Said where a label is not there, for why that may be. */
  readonly absent: string;
}

/** A part for each label, since each of them can be the one that decides. */
function labelParts(path: FieldPath, { matchLabels, matchExpressions }: LabelSelector, { labels, absent }: Carried): PartExplanation[] {
  const carried = (key: string): string => {
    const value = labels.get(key);
    return value === undefined ? `no label ${key}${absent}` : `${key}=${value}`;
  };
  return [
    ...matchLabels.map(([key, value]) => part([...path, "matchLabels", { key }], {
      wants: `${key}=${value}`, carries: carried(key), holds: labels.get(key) === value,
    })),
    ...matchExpressions.map((requirement, i) => part([...path, "matchExpressions", i], {
      wants: requirementText(requirement), carries: carried(requirement.key), holds: labelsSatisfy(labels, { matchLabels: [], matchExpressions: [requirement] }),
    })),
  ];
}

/** As `kubectl get -l` writes it. */
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

/** A selector may name a hundred of them, which nobody reads. */
const NAMED = 10;

function either(texts: readonly string[]): string {
  const named = texts.length > NAMED ? [...texts.slice(0, NAMED), `${texts.length - NAMED} others`] : texts;
  return named.join(" or ");
}

/** Names and labels are texts that users write. */
function part(path: FieldPath, { wants, carries, holds }: Omit<PartExplanation, "path">): PartExplanation {
  return { path: formatFieldPath(path), wants: printable(wants), carries: printable(carries), holds };
}
