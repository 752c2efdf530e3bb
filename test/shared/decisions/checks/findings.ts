import { findingLine } from "../../../../shared/decisions/checks/finding.ts";
import { runChecks } from "../../../../shared/decisions/checks/run.ts";
import type { Origin, Runtime } from "../../../../shared/decisions/context.ts";
import type { JsonObject } from "../../../../shared/decisions/kubernetes/json.ts";
import { selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";

interface Context {
  readonly runtime?: Runtime;
  readonly origin?: Origin;
}

/** The lines that a check prints of a new selector, as a person reads them. */
export function lines(id: string, object: JsonObject, { runtime = "ack", origin = "file" }: Context = {}): string[] {
  const { findings } = runChecks({ object, old: null, requester: null, origin }, { ...SETTINGS_BY_DEFAULT, runtime });
  return findings.filter(({ code }) => code === id).map(findingLine);
}

/** The same of a selector that has only this spec to be looked at. */
export function specLines(id: string, spec: unknown, context: Context = {}): string[] {
  return lines(id, selectorObject("team-a", spec), context);
}
