import { type Finding, findingLine } from "../../../../shared/checks/check.ts";
import { type CheckResult, runChecks } from "../../../../shared/checks/run.ts";
import type { DecisionSettings, Operation, Origin, Requester } from "../../../../shared/contract/context.ts";
import { Inventory } from "../../../../shared/inventory/inventory.ts";
import type { JsonObject } from "../../../../shared/formats/json.ts";
import { put, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";

/**
 * The input of the checks other than the checked object. By default, the cluster is empty and the requester is unknown.
 */
export interface Circumstances {
  readonly known?: readonly JsonObject[];
  readonly old?: JsonObject | null;
  readonly operation?: Operation;
  readonly requester?: Requester | null;
  readonly origin?: Origin;
  readonly settings?: Partial<DecisionSettings>;
  readonly warnOnly?: boolean;
}

export function checkChange(object: JsonObject, circumstances: Circumstances = {}): CheckResult {
  const { known = [], old = null, requester = null, origin = "cluster", operation, warnOnly = false } = circumstances;
  const settings = { ...SETTINGS_BY_DEFAULT, ...circumstances.settings };
  const inventory = new Inventory({ runtime: settings.runtime, origin });
  inventory.apply(known.map(put));
  return runChecks(
    { object, old, requester, origin, inventory, warnOnly, ...(operation === undefined ? {} : { operation }) },
    settings,
  );
}

export function findingsOf(id: string, object: JsonObject, circumstances: Circumstances = {}): Finding[] {
  return checkChange(object, circumstances).findings.filter(({ code }) => code === id);
}

/** Returns the finding lines of a check for a selector with this spec. */
export function changeLines(id: string, spec: unknown, circumstances: Circumstances = {}): string[] {
  return findingsOf(id, selectorObject("team-a", spec), circumstances).map(findingLine);
}

/** Returns the unmet requirements of a skipped check, or null if the check ran. */
export function needsOf(id: string, spec: unknown, circumstances: Circumstances = {}): string | null {
  return (
    checkChange(selectorObject("team-a", spec), circumstances).skipped.find(({ code }) => code === id)?.needs ?? null
  );
}
