import { type Finding, findingLine } from "../../shared/decisions/checks/check.ts";
import { runChecks } from "../../shared/decisions/checks/run.ts";
import type { DecisionSettings } from "../../shared/decisions/context.ts";
import { describeIdentity } from "../../shared/decisions/identities/denials.ts";
import { isIdentity } from "../../shared/decisions/identities/kinds.ts";
import { objectReference } from "../../shared/decisions/kubernetes/object-meta.ts";
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
