import { findingLine } from "../shared/decisions/checks/judge.ts";
import { partText, type SelectorExplanation } from "../shared/decisions/explain.ts";
import { compareText } from "../shared/decisions/finding.ts";
import type { Inventory } from "../shared/decisions/inventory.ts";
import { printable } from "../shared/decisions/quote.ts";
import type { Paint } from "./paint.ts";
import type { ResolvedResource } from "./resolve.ts";
import { formatTable } from "./table.ts";

const OUTCOME_STYLE = { selected: "green", default: "yellow", conflict: "red", refused: "red" } as const;

/** A row a resource, as lines. One that is only asked for has no name. */
export function resolutionTable(resolved: readonly ResolvedResource[], paint: Paint): string[] {
  const rows = resolved.map(({ resource, outcome, roleARN, region, selectors }) => [
    resource.namespace, resource.name === null ? resource.kind : `${resource.kind}/${resource.name}`, outcome, selectors.map(({ name }) => name).join(", ") || "-",
    roleARN ?? (outcome === "default" ? "the controller's own" : "-"), region?.value ?? "-",
  ]);
  const [head = "", ...lines] = formatTable([["NAMESPACE", "RESOURCE", "OUTCOME", "SELECTORS", "ROLE", "REGION"], ...rows]);
  const painted = lines.map((line, i) => {
    const outcome = resolved[i]?.outcome ?? "refused";
    return line.replace(`  ${outcome}`, `  ${paint(OUTCOME_STYLE[outcome], outcome)}`);
  });
  return [paint("bold", head), ...painted];
}

/** A block a resource: how it resolves, then each selector, first those that select it, with every part of what they want. */
export function explanationLines(resolved: readonly ResolvedResource[], paint: Paint): string[] {
  return resolved.flatMap(({ resource, outcome, message, explanation = [] }, i) => [
    ...(i === 0 ? [] : [""]),
    `${paint("bold", printable(`${resource.kind} ${resource.namespace}${resource.name === null ? "" : `/${resource.name}`}`))}: ${paint(OUTCOME_STYLE[outcome], outcome)}`,
    `  ${printable(message)}`,
    ...(explanation.length === 0 ? ["  There is no IAMRoleSelector."] : []),
    ...explanation.toSorted((a, b) => Number(b.selects) - Number(a.selects)).flatMap((one) => selectorLines(one, paint)),
  ]);
}

function selectorLines({ selector, selects, malformed, parts, message }: SelectorExplanation, paint: Paint): string[] {
  const head = `  ${printable(selector)}: ${selects ? paint("green", "selects it") : "does not select it"}`;
  if (malformed || parts.length === 0) return [head, `    ${printable(message)}`];
  return [head, ...parts.map((one) => `    ${one.holds ? paint("green", "yes") : paint("yellow", "no ")} ${partText(one)}`)];
}

/** The selectors that take no part, and those that the webhook would refuse, with what is wrong and how to mend it. */
export function faultySelectorLines(inventory: Inventory): string[] {
  const sorted = [...inventory.faulty].toSorted(([a], [b]) => compareText(a, b));
  return sorted.flatMap(([name, { faults }]) => {
    const effect = inventory.malformed.has(name) ? "is malformed and takes no part" : "takes part, but no session is granted on it, and the webhook would refuse it";
    const denied = faults.filter(({ check }) => check.severity === "deny" && !check.waivable);
    return [
      `IAMRoleSelector ${printable(name)} ${effect}:`,
      ...denied.map(({ check, fault }) => `  ${findingLine({ code: check.id, path: fault.path, message: fault.message, fix: fault.fix ?? check.fix })}`),
    ];
  });
}
