import { runChecks } from "../../../shared/judges.ts";
import { findingLine } from "../../../shared/core/check.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import type { InjectionSettings } from "../../../shared/core/sidecar-settings.ts";
import { controllerPod } from "../../fixtures/pods.ts";
import { SETTINGS_BY_DEFAULT } from "../objects.ts";
import { injected, INJECTION } from "../core/injected.ts";

/** Returns the finding lines of a new Pod, with `(warn)` after those that do not deny. */
export function lines(object: JsonObject, injection: InjectionSettings = INJECTION): readonly string[] {
  const settings = { ...SETTINGS_BY_DEFAULT, injection };
  const { findings } = runChecks({ object, old: null, requester: null, origin: "cluster" }, settings);
  return findings.map((one) => `${findingLine(one)}${one.severity === "warn" ? " (warn)" : ""}`);
}

export type Fields = Readonly<Record<string, unknown>>;

/** Returns the injected Pod of a controller with these additional variables. */
export function withVariables(...env: readonly Fields[]): JsonObject {
  return injected(controllerPod({ controller: { env: [{ name: "AWS_REGION", value: "eu-west-1" }, ...env] } }));
}
