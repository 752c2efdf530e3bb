import { INJECT_CONTAINER_ANNOTATION, INJECT_GROUP_ANNOTATION, INJECT_LABEL } from "../core/annotation-keys.ts";
import { INFRASTRUCTURE_GROUP } from "../core/capa-kinds.ts";
import { closestGroup, knownGroups, serviceOfImage } from "../core/ack-groups.ts";
import { stringAt } from "../formats/json.ts";
import { annotationAt } from "../formats/object-meta.ts";
import { type Container, type Pod, valueOf } from "../core/pod.ts";
import { FULL_URI } from "../core/sdk-variables.ts";
import { isSidecar, sidecarOf } from "../core/sidecar-container.ts";
import { isLoopbackURL } from "./injected-sidecar.ts";

/**
 * Returns the label of the Pod that requests or rejects a sidecar. A Pod without the label requests a sidecar: the API
 * server sends it only if its Namespace has the label (manifests/webhooks.ts).
 */
export function requestOf({ object }: Pod): string {
  return stringAt(object, "metadata", "labels", INJECT_LABEL) ?? REQUESTED;
}

const REQUESTED = "true";

export function isRequested(pod: Pod): boolean {
  return requestOf(pod) === REQUESTED;
}

/** The containers of the controller, or the reason why they are unknown. */
export type Controllers =
  | { readonly found: true; readonly containers: readonly [Container, ...Container[]] }
  /** `wanted` is the container of the annotation, or null. `names` are the containers that can be the controller. */
  | { readonly found: false; readonly wanted: string | null; readonly names: readonly string[] };

/**
 * Returns the containers that use the sidecar. Without the annotation, this is the only container of the Pod, except
 * the sidecar. If the Pod has a sidecar, further containers that use no endpoint on loopback do not matter: another
 * webhook can have added them later.
 */
export function controllersOf(pod: Pod): Controllers {
  const candidates = pod.containers.filter((one) => !isSidecar(one));
  const names = candidates.map(({ name }) => name);
  const wanted = annotationAt(pod.object, INJECT_CONTAINER_ANNOTATION);
  if (wanted !== null) {
    return choice(candidates.filter(({ name }) => name === wanted), { wanted, names });
  }
  if (candidates.length === 1) return choice(candidates, { wanted, names });
  return choice(sidecarOf(pod) === null ? [] : candidates.filter(usesLoopback), { wanted, names });
}

type Unknown = Omit<Extract<Controllers, { readonly found: false }>, "found">;

function choice([first, ...others]: readonly Container[], unknown: Unknown): Controllers {
  return first === undefined ? { found: false, ...unknown } : { found: true, containers: [first, ...others] };
}

function usesLoopback(container: Container): boolean {
  return isLoopbackURL(valueOf(container, FULL_URI) ?? "");
}

/** The API group of the controller, or the reason why it is unknown. */
type ControllerGroup =
  | { readonly group: string }
  /** The annotation names a group that no known controller serves. */
  | { readonly group: null; readonly unknown: string; readonly suggestion: string | null }
  /** The Pod has no annotation, and the image is not an image of an ACK controller. */
  | { readonly group: null; readonly unknown: null };

/**
 * Returns the API group of the annotation, or else of the image of the controller. The group of CAPA is never known,
 * because the injection would set AWS_ENDPOINT_URL_STS, which CAPA writes into the kubeconfigs of EKS clusters.
 */
export function groupOf(
  { object }: Pod, { image }: Pick<Container, "image">, extraGroups: readonly string[],
): ControllerGroup {
  const known = knownGroups(extraGroups);
  const wanted = annotationAt(object, INJECT_GROUP_ANNOTATION);
  if (wanted !== null) {
    return known.includes(wanted) && wanted !== INFRASTRUCTURE_GROUP
      ? { group: wanted }
      : { group: null, unknown: wanted, suggestion: closestGroup(wanted, known) };
  }
  const service = serviceOfImage(image);
  const group = known.find((one) => one === `${service}.services.k8s.aws`);
  return group === undefined ? { group: null, unknown: null } : { group };
}
