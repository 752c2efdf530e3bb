import { type Finding, findingLine } from "../../shared/decisions/checks/check.ts";
import { warnOfPlaceholders } from "../../shared/decisions/checks/unrendered.ts";
import type { Origin } from "../../shared/decisions/context.ts";
import type { Inventory } from "../../shared/decisions/inventory/inventory.ts";
import { compareText, printable } from "../../shared/decisions/kubernetes/text.ts";
import { type DecodedSelector, withholdsGrant } from "../../shared/decisions/selectors/decode.ts";

/** A selector that is malformed or that the webhook would deny. */
interface FaultySelector {
  readonly name: string;
  readonly malformed: boolean;
  readonly findings: readonly Finding[];
  /** False if every finding concerns a value that contains a template placeholder. */
  readonly isRendered: boolean;
}

/**
 * Returns each selector that is malformed or that the webhook would deny, sorted by name. With the origin `cluster`, a
 * template placeholder counts as a wrong value.
 */
export function faultySelectors({ selectors }: Inventory, origin: Origin): FaultySelector[] {
  const sorted = [...selectors.faulty].toSorted(([a], [b]) => compareText(a, b));
  return sorted.map(([name, decoded]) => {
    const findings = warnOfPlaceholders(denialsOf(decoded), { object: decoded.object, origin, requester: null });
    const isRendered = findings.some(({ severity }) => severity === "deny");
    return { name, malformed: selectors.malformed.has(name), findings, isRendered };
  });
}

function denialsOf({ faults }: DecodedSelector): Finding[] {
  return faults.filter(withholdsGrant).map(({ check, fault }) => {
    const { path, message, fix = check.fix } = fault;
    return { code: check.id, severity: "deny", path, message, fix, waivable: false, waived: false };
  });
}

/** Returns the findings of each selector, as lines. */
export function faultySelectorLines(selectors: readonly FaultySelector[]): string[] {
  return selectors.flatMap((selector) => [
    `IAMRoleSelector ${printable(selector.name)} ${effectOf(selector)}:`,
    ...selector.findings.map((finding) => `  ${findingLine(finding)}`),
  ]);
}

function effectOf({ isRendered, malformed }: FaultySelector): string {
  if (!isRendered) return "is not rendered, so its roles may differ in the cluster";
  return malformed
    ? "is malformed, so controllers ignore it"
    : "is effective, but the sidecar does not grant its role and the webhook would deny it";
}
