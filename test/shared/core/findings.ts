import { runChecks } from "../../../shared/judges.ts";
import { applyRepairs } from "./repaired.ts";
import { type CheckInput, type Finding, findingLine } from "../../../shared/core/check.ts";
import type { CheckResult } from "../../../shared/core/run.ts";
import type {
  Access, AccessByName, DecisionSettings, Occasion, Origin, Requester,
} from "../../../shared/core/context.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import {
  ACCOUNT_MAP, inventoryWith, mapObject, namespaceObject, OWN, selectorObject, SETTINGS_BY_DEFAULT,
} from "../objects.ts";

/** The input of the checks besides the object. By default, the cluster is empty and the requester is unknown. */
export interface Circumstances {
  /** The stored objects. */
  readonly known?: readonly JsonObject[];
  readonly old?: JsonObject | null;
  readonly operation?: Occasion;
  readonly requester?: Requester | null;
  readonly origin?: Origin;
  readonly settings?: Partial<DecisionSettings>;
  readonly access?: AccessByName;
  readonly warnOnly?: boolean;
  readonly pending?: NonNullable<CheckInput["pending"]>;
}

export function checkChange(object: JsonObject, circumstances: Circumstances = {}): CheckResult {
  const { known = [], settings = {}, old = null, requester = null, origin = "cluster", ...rest } = circumstances;
  const all = { ...SETTINGS_BY_DEFAULT, ...settings };
  const inventory = inventoryWith(known, { runtime: all.runtime, origin });
  const input = { object, old, requester, origin, inventory, ...rest };
  const result = runChecks(input, all);
  applyRepairs({ input, settings: all, known }, result);
  return result;
}

export function findingsOf(id: string, object: JsonObject, circumstances: Circumstances = {}): Finding[] {
  return checkChange(object, circumstances).findings.filter(({ code }) => code === id);
}

/** Returns `SEVERITY CODE PATH: MESSAGE. FIX.` for each finding of the check. */
export function linesOf(id: string, object: JsonObject, circumstances: Circumstances = {}): string[] {
  return findingsOf(id, object, circumstances).map(lineOf);
}

export function lineOf(finding: Finding): string {
  return `${finding.severity}${finding.waived ? " (waived)" : ""} ${findingLine(finding)}`;
}

/** Returns the lines of a check for a selector with this spec. */
export function changeLines(id: string, spec: unknown, circumstances: Circumstances = {}): string[] {
  return linesOf(id, selectorObject("team-a", spec), circumstances);
}

/** Returns the unmet requirements of a check that is skipped for a selector, or null if the check ran. */
export function needsOf(id: string, spec: unknown, circumstances: Circumstances = {}): string | null {
  const { skipped } = checkChange(selectorObject("team-a", spec), circumstances);
  return skipped.find(({ code }) => code === id)?.needs ?? null;
}

type Context = Partial<Pick<DecisionSettings, "runtime">> & { readonly origin?: Origin };

/** Returns the lines of checks for a new selector in a manifest, without an inventory. */
export function selfLines(
  ids: string | readonly string[], object: JsonObject, { runtime = "ack", origin = "file" }: Context = {},
): string[] {
  const [input, settings] = [{ object, old: null, requester: null, origin }, { ...SETTINGS_BY_DEFAULT, runtime }];
  const { findings } = runChecks(input, settings);
  applyRepairs({ input, settings, known: null }, { findings });
  return findings.filter(({ code }) => [ids].flat().includes(code)).map(lineOf);
}

/** Returns the lines of checks for a new selector with this spec in a manifest, without an inventory. */
export function specLines(ids: string | readonly string[], spec: unknown, context: Context = {}): string[] {
  return selfLines(ids, selectorObject("team-a", spec), context);
}

/** Returns the lines of a check with the controller's own account in the settings. */
export function accountLines(id: string, object: JsonObject, circumstances: Circumstances): string[] {
  const settings = { controllerAccount: OWN, ...circumstances.settings };
  return linesOf(id, object, { ...circumstances, settings });
}

/** Returns the lines of a check for namespace team-a with these annotations. */
export function annotationLines(id: string, annotations: JsonObject, circumstances: Circumstances = {}): string[] {
  return linesOf(id, namespaceObject("team-a", {}, annotations), circumstances);
}

/** Returns the lines of a check for an account map with this data. */
export function dataLines(id: string, data: JsonObject, circumstances: Circumstances = {}): string[] {
  return linesOf(id, mapObject(ACCOUNT_MAP, data), circumstances);
}

/** Returns the answers of access reviews by the name of the selector. */
export function accessOf(answers: Readonly<Record<string, Access>>): AccessByName {
  return new Map(Object.entries(answers));
}
