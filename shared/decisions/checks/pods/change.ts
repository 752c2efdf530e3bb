import { type Container, decodePod, type Pod } from "../../pods/pod.ts";
import { type Controllers, controllersOf, isRequested } from "../../pods/request.ts";
import type { InjectionSettings } from "../../pods/settings.ts";
import { type ReservedUse, reservedUses } from "../../pods/reserved.ts";
import { sidecarOf } from "../../pods/sidecar.ts";
import type { DecisionSettings } from "../../context.ts";
import type { JsonObject } from "../../kubernetes/json.ts";

/** The creation of a Pod that requests a sidecar. */
export interface PodCreation {
  readonly pod: Pod;
  readonly choice: Controllers;
  /** The containers of the controller; [] if they are unknown, or if the Pod requests no sidecar. */
  readonly controllers: readonly Container[];
  readonly sidecar: Container | null;
  /** Uses of reserved names; [] if the Pod requests no sidecar. The injection does not change a Pod that has some. */
  readonly reserved: readonly ReservedUse[];
  readonly injection: InjectionSettings;
}

export function podCreation(object: JsonObject, { injection }: DecisionSettings): PodCreation {
  const pod = decodePod(object);
  const choice = controllersOf(pod);
  const controllers = choice.found && isRequested(pod) ? choice.containers : [];
  const reserved = isRequested(pod) ? reservedUses(pod, choice, injection) : [];
  return { pod, choice, controllers, reserved, sidecar: sidecarOf(pod), injection };
}
