import { findingLine } from "../../../../shared/checks/check.ts";
import { runChecks } from "../../../../shared/checks/run.ts";
import type { Origin, Runtime } from "../../../../shared/contract/context.ts";
import type { JsonObject } from "../../../../shared/formats/json.ts";
import { selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";

interface Context {
  readonly runtime?: Runtime;
  readonly origin?: Origin;
}

/** Returns the finding lines of a self check for a new selector. */
export function findingLines(
  id: string, object: JsonObject, { runtime = "ack", origin = "file" }: Context = {},
): string[] {
  const { findings } = runChecks({ object, old: null, requester: null, origin }, { ...SETTINGS_BY_DEFAULT, runtime });
  return findings.filter(({ code }) => code === id).map(findingLine);
}

/** Returns the finding lines of a self check for a new selector with this spec. */
export function specLines(id: string, spec: unknown, context: Context = {}): string[] {
  return findingLines(id, selectorObject("team-a", spec), context);
}
