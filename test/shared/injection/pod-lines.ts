import { deepEqual, equal } from "node:assert/strict";
import { applyEdits } from "../../../shared/core/repair.ts";
import { runChecks } from "../../../shared/judges.ts";
import { type Finding, findingLine } from "../../../shared/core/check.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import type { InjectionSettings } from "../../../shared/core/sidecar-settings.ts";
import { controllerPod } from "../../fixtures/pods.ts";
import { SETTINGS_BY_DEFAULT } from "../objects.ts";
import { injected, INJECTION } from "../core/injected.ts";
import { REPAIRED } from "../core/repaired.ts";

/** Returns the finding lines of a new Pod, with `(warn)` after those that do not deny. */
export function lines(object: JsonObject, injection: InjectionSettings = INJECTION): readonly string[] {
  const settings = { ...SETTINGS_BY_DEFAULT, injection };
  const judge = (one: JsonObject): readonly Finding[] => (
    runChecks({ object: one, old: null, requester: null, origin: "cluster" }, settings).findings
  );
  const findings = judge(object);
  applyPodRepairs(object, findings, (repaired) => judge(injected(repaired, injection)));
  return findings.map((one) => `${findingLine(one)}${one.severity === "warn" ? " (warn)" : ""}`);
}

/**
 * Applies each repair, and fails unless the finding is then gone and nothing new is denied after the injection. No
 * other check runs on a Pod with POD-01.
 */
function applyPodRepairs(
  object: JsonObject, findings: readonly Finding[], judge: (pod: JsonObject) => readonly Finding[],
): void {
  const codes = new Set(findings.map(({ code }) => code));
  for (const { code, message, repairs = [] } of findings) {
    for (const { edits } of repairs) {
      const after = judge(applyEdits(object, edits) ?? {});
      const what = `${code} ${message} ${JSON.stringify(edits)}`;
      equal(after.find((one) => one.code === code && one.message === message), undefined, what);
      const added = after.filter((one) => one.severity === "deny" && !codes.has(one.code) && code !== "POD-01");
      deepEqual(added.map(findingLine), [], what);
      REPAIRED.set(code, (REPAIRED.get(code) ?? 0) + 1);
    }
  }
}

export type Fields = Readonly<Record<string, unknown>>;

/** Returns the injected Pod of a controller with these additional variables. */
export function withVariables(...env: readonly Fields[]): JsonObject {
  return injected(controllerPod({ controller: { env: [{ name: "AWS_REGION", value: "eu-west-1" }, ...env] } }));
}
