import { NOTHING_CLOSED } from "../../../shared/core/closures.ts";
import jsonPatch, { type Operation } from "fast-json-patch";
import { field, isJsonObject, type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import { injectionPatch } from "../../../shared/injection/injection.ts";
import { decodePod } from "../../../shared/core/pod.ts";
import { objectAt } from "../../webhook/reviews.ts";
import type { InjectionSettings } from "../../../shared/core/sidecar-settings.ts";

export const INJECTION: InjectionSettings = {
  image: "registry.example.com/resolver:1", args: [], env: [], caConfigMap: null,
  runAsUser: 65_532, isDualStack: false, extraGroups: [], closures: NOTHING_CLOSED,
};

/** Returns the Pod after the webhook has patched it. */
export function injected(pod: JsonObject, settings: InjectionSettings = INJECTION): JsonObject {
  const patch: readonly Operation[] = injectionPatch(decodePod(pod), settings).map((one) => ({ ...one }));
  return jsonPatch.applyPatch(structuredClone(pod), patch, true).newDocument;
}

/** Returns a container of a Pod by name. */
export function containerOf(pod: JsonObject, name: string): JsonObject {
  const spec = field(pod, "spec");
  const all = [field(spec, "initContainers"), field(spec, "containers")].flat().filter(isJsonObject);
  return all.find((one) => stringAt(one, "name") === name) ?? {};
}

/** Returns the variables of a container by name. */
export function variablesOf(pod: JsonObject, name: string): Readonly<Record<string, unknown>> {
  const env = [field(containerOf(pod, name), "env")].flat().filter(isJsonObject);
  return Object.fromEntries(env.map((one) => [nameOf(one), field(one, "value") ?? field(one, "valueFrom")]));
}

/** Returns the names of the volumes that a container mounts. */
export function mountsOf(pod: JsonObject, name: string): readonly string[] {
  return [field(containerOf(pod, name), "volumeMounts")].flat().filter(isJsonObject).map(nameOf);
}

/** Returns the Pod with its variables and volumes sorted by name, because their order has no effect. */
export function sorted(pod: JsonObject): JsonObject {
  const spec = field(pod, "spec");
  const byName = (value: unknown): readonly JsonObject[] => (
    [value ?? []].flat().filter(isJsonObject).toSorted((a, b) => nameOf(a).localeCompare(nameOf(b)))
  );
  const containers = (key: string): object => {
    const list = [field(spec, key) ?? []].flat().filter(isJsonObject);
    return list.map((one) => ({
      ...one, env: byName(field(one, "env")), volumeMounts: byName(field(one, "volumeMounts")),
    }));
  };
  const lists = { containers: containers("containers"), initContainers: containers("initContainers") };
  return { ...pod, spec: { ...objectAt(spec), ...lists, volumes: byName(field(spec, "volumes")) } };
}

function nameOf(object: JsonObject): string {
  return stringAt(object, "name") ?? "";
}
