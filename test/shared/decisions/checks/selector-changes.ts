import { type Finding, findingLine } from "../../../../shared/decisions/checks/finding.ts";
import { type CheckResult, runChecks } from "../../../../shared/decisions/checks/run.ts";
import type { DecisionSettings, Operation, Origin, Requester } from "../../../../shared/decisions/context.ts";
import { Inventory } from "../../../../shared/decisions/inventory/inventory.ts";
import type { JsonObject } from "../../../../shared/decisions/kubernetes/json.ts";
import { put, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";

/** What a change of a selector is judged by; a cluster that holds nothing, and nobody who asks, by default. */
export interface Circumstances {
  readonly known?: readonly JsonObject[];
  readonly old?: JsonObject | null;
  readonly operation?: Operation;
  readonly requester?: Requester | null;
  readonly origin?: Origin;
  readonly settings?: Partial<DecisionSettings>;
}

export function judgeChange(object: JsonObject, circumstances: Circumstances = {}): CheckResult {
  const { known = [], old = null, requester = null, origin = "cluster", operation } = circumstances;
  const settings = { ...SETTINGS_BY_DEFAULT, ...circumstances.settings };
  const inventory = new Inventory({ runtime: settings.runtime, origin });
  inventory.apply(known.map(put));
  return runChecks({ object, old, requester, origin, inventory, ...(operation === undefined ? {} : { operation }) }, settings);
}

export function findingsOf(id: string, object: JsonObject, circumstances: Circumstances = {}): Finding[] {
  return judgeChange(object, circumstances).findings.filter(({ code }) => code === id);
}

/** The lines that a check prints of a change, as a person reads them; of a selector that has only this spec to be looked at. */
export function changeLines(id: string, spec: unknown, circumstances: Circumstances = {}): string[] {
  return findingsOf(id, selectorObject("team-a", spec), circumstances).map(findingLine);
}

/** What a check said that it would have to know, or null when it was applied. */
export function needsOf(id: string, spec: unknown, circumstances: Circumstances = {}): string | null {
  return judgeChange(selectorObject("team-a", spec), circumstances).skipped.find(({ code }) => code === id)?.needs ?? null;
}
