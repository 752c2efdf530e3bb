import { runChecks } from "../../shared/judges.ts";
import { SELECTORS } from "../../shared/ack/selectors.ts";
import { type Finding, findingLine } from "../../shared/core/check.ts";
import { warnOfPlaceholders } from "../../shared/core/unrendered.ts";
import { describeIdentity, isIdentity } from "../../shared/core/capa-kinds.ts";
import type { DecisionSettings, Origin } from "../../shared/core/context.ts";
import { objectReference } from "../../shared/formats/object-meta.ts";
import { compareText, printable } from "../../shared/formats/text.ts";
import type { Inventory } from "../../shared/core/inventory.ts";
import type { JudgedSelector } from "../../shared/ack/selector.ts";
import type { State } from "./state.ts";

/** A CAPA identity that the webhook would deny. */
interface FaultyIdentity {
  /** The kind and the name. */
  readonly title: string;
  readonly findings: readonly Finding[];
}

/** Returns each CAPA identity that the webhook would deny, in input order, without the faults that can be waived. */
export function faultyIdentities(
  { objects, inventory, origin }: Pick<State, "objects" | "inventory" | "origin">, settings: DecisionSettings,
): FaultyIdentity[] {
  return objects.flatMap(({ object }) => {
    if (!isIdentity(object)) return [];
    const { findings } = runChecks({ object, old: null, requester: null, origin, inventory }, settings);
    const denials = findings.filter(({ severity, waivable }) => severity === "deny" && !waivable);
    return denials.length === 0 ? [] : [{ title: describeIdentity(objectReference(object)), findings: denials }];
  });
}

/** Returns the findings of each identity, as lines. */
export function faultyIdentityLines(identities: readonly FaultyIdentity[]): string[] {
  return identities.flatMap(({ title, findings }) => (
    [`${title} is faulty, and the webhook would deny it:`, ...findings.map((finding) => `  ${findingLine(finding)}`)]
  ));
}

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
export function faultySelectors(inventory: Inventory, origin: Origin): FaultySelector[] {
  const sorted = [...inventory.of(SELECTORS).faulty].toSorted(([a], [b]) => compareText(a, b));
  return sorted.map(([name, decoded]) => {
    const findings = warnOfPlaceholders(denialsOf(decoded), { object: decoded.object, origin, requester: null });
    const isRendered = findings.some(({ severity }) => severity === "deny");
    return { name, malformed: inventory.of(SELECTORS).malformed.has(name), findings, isRendered };
  });
}

function denialsOf({ faults }: JudgedSelector): Finding[] {
  return faults.filter((one) => one.withholdsGrant).map(({ code, path, message, fix }) => (
    { code, severity: "deny", path, message, fix, waivable: false, waived: false }
  ));
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
