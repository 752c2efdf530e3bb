import { findingLine } from "../../../../shared/decisions/checks/check.ts";
import type { CheckInput } from "../../../../shared/decisions/checks/change.ts";
import { runChecks } from "../../../../shared/decisions/checks/run.ts";
import type { DecisionSettings } from "../../../../shared/decisions/context.ts";
import type { JsonObject } from "../../../../shared/decisions/kubernetes/json.ts";
import { identityInventory } from "../identities/objects.ts";
import { SETTINGS_BY_DEFAULT } from "../objects.ts";

export interface CapaCase extends Partial<Pick<CheckInput, "access" | "old" | "operation" | "requester" | "warnOnly">> {
  readonly objects?: readonly JsonObject[];
  readonly settings?: Partial<DecisionSettings>;
  readonly origin?: "file" | "cluster";
}

/** Returns `SEVERITY LINE` for each finding of the check. Default: the creation of the object in a cluster. */
export function capaLines(id: string, object: JsonObject, options: CapaCase = {}): string[] {
  const { objects = [], settings = {}, origin = "cluster", old = null, requester = null, ...rest } = options;
  const all = { ...SETTINGS_BY_DEFAULT, ...settings };
  const inventory = identityInventory(objects, { runtime: all.runtime, origin });
  const { findings } = runChecks({ object, old, requester, origin, inventory, ...rest }, all);
  return findings.filter(({ code }) => code === id).map((one) => `${one.severity} ${findingLine(one)}`);
}

/** Returns the ids of the checks that deny the change. */
export function denials(object: JsonObject, options: CapaCase = {}): string[] {
  const { objects = [], settings = {}, origin = "cluster", old = null, requester = null, ...rest } = options;
  const all = { ...SETTINGS_BY_DEFAULT, ...settings };
  const inventory = identityInventory(objects, { runtime: all.runtime, origin });
  const { findings } = runChecks({ object, old, requester, origin, inventory, ...rest }, all);
  return findings.filter(({ severity }) => severity === "deny").map(({ code }) => code);
}
