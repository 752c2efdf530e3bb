import type { LabelRequirement, LabelSelector } from "./label-selector.ts";

const KEY = "[A-Za-z0-9][-A-Za-z0-9_./]*";
const VALUE = "[-A-Za-z0-9_.]*";
const REQUIREMENT = `\\s*(?:!\\s*${KEY}|${KEY}(?:\\s*(?:==?|!=)\\s*${VALUE}|\\s+(?:in|notin)\\s*\\(\\s*${VALUE}(?:\\s*,\\s*${VALUE})*\\s*\\))?)\\s*`;

/** What matches a label selector as text: `team=a,tier in (gold,silver),!old`. */
export const LABEL_SELECTOR_TEXT = `^${REQUIREMENT}(?:,${REQUIREMENT})*$`;

/** Reads a label selector that matches `LABEL_SELECTOR_TEXT`, as k8s.io/apimachinery pkg/labels/selector.go, Parse, does; Gt and Lt aside. */
export function parseLabelSelector(text: string): LabelSelector {
  // A comma inside parentheses parts values, not requirements.
  return { matchLabels: [], matchExpressions: text.split(/,(?![^(]*\))/).map((part) => requirementOf(part.trim())) };
}

function requirementOf(text: string): LabelRequirement {
  if (text.startsWith("!")) return { key: text.slice(1).trim(), operator: "DoesNotExist", values: [] };
  const [key = "", ...rest] = text.split(/\s*(==|!=|=)\s*|\s+(in|notin)\s*\(\s*|\s*\)$/).filter((part) => part !== undefined);
  const [operator = "", values = ""] = rest;
  if (operator === "") return { key, operator: "Exists", values: [] };
  return { key, operator: operator === "!=" || operator === "notin" ? "NotIn" : "In", values: values.split(/\s*,\s*/) };
}
