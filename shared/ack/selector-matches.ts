import { type FieldPath, type JsonObject, valueAt } from "../formats/json.ts";
import { expressionFaults, type LabelFault, matchLabelFaults } from "../formats/label-selector.ts";
import { namespaceNameFaults } from "../formats/names.ts";
import { quote } from "../formats/text.ts";
import type { DecodedSelector, SelectorCheck } from "./selector.ts";
import type { Fault } from "../core/check.ts";
import { checkOf } from "../core/field-rule.ts";
import { remove, type Repair, safely, set } from "../core/repair.ts";
import { expressionRepairs, labelRepairs, type LocatedSelector } from "./selector-labels.ts";
import { FILLED, NAMESPACE_NAME } from "../core/value-types.ts";

const NAMES = ["spec", "namespaceSelector", "names"] as const;

export const IRS_08: SelectorCheck = {
  id: "IRS-08",
  severity: "deny",
  reason: "Controllers drop a selector that lists an empty namespace name, or the same name twice.",
  fix: "list each namespace once, by its name",
  example: "spec: {namespaceSelector: {names: [team-a, team-a]}}",
  when: (subject) => namesOf(subject).length > 1 || namesOf(subject)[0] === "",
  *find(subject): Iterable<Fault> {
    const seen = new Set<string>();
    for (const [i, name] of namesOf(subject).entries()) {
      const path = [...NAMES, i];
      // Without its only entry, the list would select every namespace.
      const fix = "write the name of a namespace";
      if (name === "") yield { path, message: "the namespace name is empty", fix, dropsSelector: true };
      else if (seen.has(name)) {
        yield { path, message: `${quote(name)} is already listed`, repairs: safely(remove(path)), dropsSelector: true };
      }
      seen.add(name);
    }
  },
};

function namesOf({ spec }: DecodedSelector): readonly string[] {
  return spec.namespaceSelector?.names ?? NO_NAMES;
}

const NO_NAMES: readonly string[] = [];

export const IRS_09 = checkOf({
  id: "IRS-09",
  severity: "deny",
  reason: "No namespace can have such a name: names are literal, and * is not a wildcard. "
    + "The selector does not select the intended resources, which fall back to the controller's own account.",
  fix: "use the exact name of a namespace, or select namespaces by label with labelSelector",
  example: "spec: {namespaceSelector: {names: ['team-*']}}",
  at: [[...NAMES, "*"]],
  type: NAMESPACE_NAME,
  within: FILLED,
  says: (value, faults) => `${value} is not a valid namespace name: ${faults}`,
  policySays: "an entry is not a valid namespace name",
  repairs: nameRepairs,
});

/** Returns the repair that writes the name as Kubernetes allows it, unless that namespace is listed already. */
function nameRepairs(text: string, path: FieldPath, object: JsonObject): readonly Repair[] {
  const name = text.trim().toLowerCase().replaceAll("_", "-");
  if (namespaceNameFaults(name).length > 0) return NO_REPAIRS;
  const names = valueAt(object, NAMES);
  return safely(Array.isArray(names) && names.includes(name) ? remove(path) : set(path, name));
}

const NO_REPAIRS: readonly never[] = [];

function hasLabelSelector({ spec }: DecodedSelector): boolean {
  return spec.resourceLabelSelector !== null || (spec.namespaceSelector?.labelSelector ?? null) !== null;
}

/** Returns the namespace label selector and the resource label selector of an IAMRoleSelector. */
function labelSelectors({ spec }: DecodedSelector): LocatedSelector[] {
  const ofNamespace = spec.namespaceSelector?.labelSelector ?? null;
  const ofResource = spec.resourceLabelSelector;
  const located: LocatedSelector[] = [];
  if (ofNamespace !== null) located.push([["spec", "namespaceSelector", "labelSelector"], ofNamespace]);
  if (ofResource !== null) located.push([["spec", "resourceLabelSelector"], ofResource]);
  return located;
}

export const IRS_11: SelectorCheck = {
  id: "IRS-11",
  severity: "deny",
  reason: "Controllers drop a selector that has an empty label key. "
    + "A selector that has another malformed label selects nothing, because no object can have such a label.",
  fix: "use the Kubernetes label syntax: [prefix/]name: value",
  example: "spec: {resourceLabelSelector: {matchLabels: {tier: 'very gold'}}}",
  when: hasLabelSelector,
  *find(subject): Iterable<Fault> {
    for (const at of labelSelectors(subject)) {
      for (const fault of matchLabelFaults(at[1])) yield toFault(at, fault);
      // With --runtime ack, IRS-35 denies every expression.
      const ofExpressions = subject.runtime === "ack" ? [] : expressionFaults(at[1]);
      for (const fault of ofExpressions) yield toFault(at, fault);
    }
  },
};

/** Controllers drop a selector that has an empty label key. They do not check other labels. */
function toFault(at: LocatedSelector, { path, message, isEmptyKey }: LabelFault): Fault {
  const repairs = labelRepairs(at, path);
  return { path: [...at[0], ...path], message, repairs, ...(isEmptyKey && { dropsSelector: true }) };
}

export const IRS_35: SelectorCheck = {
  id: "IRS-35",
  severity: "deny",
  reason: "Shipped ACK controllers do not support matchExpressions. "
    + "Controllers drop the expressions, so the selector selects more than intended.",
  fix: "write each label with its value in matchLabels, in one selector for each value, or set --runtime extended if "
    + "no shipped controller reads this selector",
  example: "spec: {namespaceSelector: {labelSelector: {matchExpressions: [{key: team, operator: Exists}]}}}",
  when: (subject) => subject.runtime === "ack" && hasLabelSelector(subject),
  *find(subject): Iterable<Fault> {
    const message = "shipped ACK controllers drop matchExpressions and would select more than intended";
    for (const at of labelSelectors(subject)) {
      const path = [...at[0], "matchExpressions"];
      if (at[1].matchExpressions.length > 0) yield { path, message, repairs: expressionRepairs(at) };
    }
  },
};
