import type { FieldPath } from "../../kubernetes/field-path.ts";
import { namespaceNameFaults } from "../../kubernetes/names.ts";
import { quote } from "../../kubernetes/text.ts";
import type { Fault, SelectorCheck } from "../check.ts";

const NAMES = ["spec", "namespaceSelector", "names"] as const;

export const IRS_08: SelectorCheck = {
  id: "IRS-08",
  severity: "deny",
  waivable: false,
  reason: "Controllers drop a selector that lists an empty namespace name, or the same name twice.",
  fix: "list each namespace once, or remove the field names to select every namespace",
  example: "spec: {namespaceSelector: {names: [team-a, team-a]}}",
  *find({ spec }): Iterable<Fault> {
    const seen = new Set<string>();
    for (const [i, name] of (spec.namespaceSelector?.names ?? []).entries()) {
      const path: FieldPath = [...NAMES, i];
      if (name === "") yield { path, message: "the namespace name is empty", dropsSelector: true };
      else if (seen.has(name)) yield { path, message: `${quote(name)} is already listed`, dropsSelector: true };
      seen.add(name);
    }
  },
};

export const IRS_09: SelectorCheck = {
  id: "IRS-09",
  severity: "deny",
  waivable: false,
  reason: "No namespace can have such a name: names are literal, and * is not a wildcard. "
    + "The selector does not select the intended resources, which fall back to the controller's own account.",
  fix: "use the exact name of a namespace, or select namespaces by label with labelSelector",
  example: "spec: {namespaceSelector: {names: ['team-*']}}",
  *find({ spec }): Iterable<Fault> {
    for (const [i, name] of (spec.namespaceSelector?.names ?? []).entries()) {
      const faults = name === "" ? [] : namespaceNameFaults(name);
      if (faults.length === 0) continue;
      yield { path: [...NAMES, i], message: `${quote(name)} is not a valid namespace name: ${faults.join("; ")}` };
    }
  },
};
