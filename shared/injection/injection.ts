import { SKIP_CONTAINERS_ANNOTATION } from "../core/annotation-keys.ts";
import {
  field, isJsonObject, type JsonObject, jsonPointer, type PatchOperation,
} from "../formats/json.ts";
import { annotationAt } from "../formats/object-meta.ts";
import { eksIdentityOf, missingRegion } from "./pod-identity.ts";
import { type Container, type Pod, textAt } from "../core/pod.ts";
import { controllersOf, groupOf, isRequested } from "./injection-request.ts";
import { reservedUses } from "./reserved-names.ts";
import type { InjectionSettings } from "../core/sidecar-settings.ts";
import { sidecarOf } from "../core/sidecar-container.ts";
import { CONTROLLER_MOUNT, CONTROLLER_VARIABLES, sidecarContainer, sidecarVolumes } from "./injected-sidecar.ts";

/**
 * Returns the patch that adds the sidecar to a Pod. The patch is empty if the Pod requests no sidecar, or if the checks
 * deny the Pod because its controller or group is unknown, or because it uses a reserved name. The patch of a patched
 * Pod is empty.
 *
 * If the Pod has a sidecar, the patch only moves the credentials that the identity webhook of EKS added to the
 * controller. So the order of the two webhooks does not matter.
 */
export function injectionPatch(pod: Pod, settings: InjectionSettings): readonly PatchOperation[] {
  const controllers = controllersOf(pod);
  if (!isRequested(pod) || !controllers.found) return [];
  const { containers } = controllers;
  const [controller] = containers;
  if (reservedUses(pod, controllers, settings).length > 0) return [];
  const existing = sidecarOf(pod);
  if (existing !== null) {
    return [
      ...skipOperations(pod, containers),
      ...containers.flatMap((one) => changeOperations(one, { env: missingRegion(existing.env, one.env), mounts: [] })),
      ...addOperations(existing, additionsTo(existing, controller)),
    ];
  }
  const { group } = groupOf(pod, controller, settings.extraGroups);
  const { image } = settings;
  if (image === null || group === null) return [];
  const { env, mounts } = additionsTo({ env: [], mounts: [] }, controller);
  const spec = field(pod.object, "spec");
  return [
    ...skipOperations(pod, containers),
    ...changeOperations(controller, clientOf(controller)),
    ...listOperations(spec, "/spec", "initContainers", [sidecarContainer({ image, group, env, mounts }, settings)]),
    ...listOperations(spec, "/spec", "volumes", missingVolumes(pod, settings)),
  ];
}

type Lists = Pick<Container, "env" | "mounts">;

/** The maximum length of the annotation, because the patch contains the annotation. */
const MAX_SKIPPED_LENGTH = 10_000;
/** The API server rejects a Pod with a longer name of a container. */
const MAX_NAME_LENGTH = 63;

function isContainerName(name: string): boolean {
  return name.length <= MAX_NAME_LENGTH;
}

/** The variables and mounts that the injection adds to a container. */
interface Additions {
  readonly env: readonly JsonObject[];
  readonly mounts: readonly JsonObject[];
}

/** Returns the region and the EKS credentials of the controller that the sidecar lacks. Never mixes two identities. */
function additionsTo(sidecar: Lists, controller: Container): Additions {
  const identity = eksIdentityOf(controller);
  const names = new Set(sidecar.env.map(({ name }) => name));
  const paths = new Set(sidecar.mounts.map(({ mountPath }) => mountPath));
  const hasOwn = identity.env.some(({ name }) => names.has(name));
  const ofIdentity = hasOwn ? [] : identity.env.map(({ entry }) => entry);
  const mounts = identity.mounts.filter(({ mountPath }) => !paths.has(mountPath)).map(({ entry }) => entry);
  return { env: [...missingRegion(controller.env, sidecar.env), ...ofIdentity], mounts };
}

/** Returns the variables and the mount with which the controller uses the sidecar. Never replaces a variable. */
function clientOf(controller: Container): Additions {
  const { env, mounts } = withoutIdentity(controller);
  const names = new Set(env.map(({ name }) => name));
  const paths = new Set(mounts.map(({ mountPath }) => mountPath));
  return {
    env: CONTROLLER_VARIABLES.filter((one) => !names.has(textAt(one, "name"))),
    mounts: [CONTROLLER_MOUNT].filter((one) => !paths.has(textAt(one, "mountPath"))),
  };
}

function withoutIdentity(container: Container): Lists {
  const identity = eksIdentityOf(container);
  return {
    env: container.env.filter((one) => !identity.env.includes(one)),
    mounts: container.mounts.filter((one) => !identity.mounts.includes(one)),
  };
}

function missingVolumes({ volumes }: Pod, settings: InjectionSettings): readonly JsonObject[] {
  const names = new Set(volumes.map(({ name }) => name));
  return sidecarVolumes(settings).filter((volume) => !names.has(textAt(volume, "name")));
}

/** Returns the operations that remove the EKS credentials from a controller, and then add variables and mounts. */
function changeOperations(controller: Container, added: Additions): PatchOperation[] {
  const { env, mounts } = eksIdentityOf(controller);
  const remove = (name: string, list: Lists["env" | "mounts"], removed: readonly object[]): PatchOperation[] => (
    // Removes the last entry first, because a removal shifts the entries after it.
    [...list.entries()].filter(([, one]) => removed.includes(one)).toReversed()
      .map(([index]) => ({ op: "remove", path: jsonPointer("spec", controller.list, controller.index, name, index) }))
  );
  return [
    ...remove("env", controller.env, env), ...remove("volumeMounts", controller.mounts, mounts),
    ...addOperations(controller, added),
  ];
}

function addOperations({ object, list, index }: Container, { env, mounts }: Additions): PatchOperation[] {
  const path = jsonPointer("spec", list, index);
  return [...listOperations(object, path, "env", env), ...listOperations(object, path, "volumeMounts", mounts)];
}

/** Returns the operations that append values to a list in an object at `path`. */
function listOperations(
  object: unknown, path: string, name: string, values: readonly JsonObject[],
): PatchOperation[] {
  if (values.length === 0) return [];
  const target = `${path}${jsonPointer(name)}`;
  if (!Array.isArray(field(object, name))) return [{ op: "add", path: target, value: values }];
  return values.map((value) => ({ op: "add", path: `${target}/-`, value }));
}

/**
 * Returns the operation that names the controllers in the annotation, so that the identity webhook of EKS skips them.
 * Adds the names before the existing names, because the webhook of EKS reads only the first line of the annotation.
 */
function skipOperations({ object }: Pod, containers: readonly Container[]): PatchOperation[] {
  const stored = annotationAt(object, SKIP_CONTAINERS_ANNOTATION) ?? "";
  // Without the annotation, the webhook of EKS adds credentials to the controller, and the checks deny the Pod.
  if (stored.length > MAX_SKIPPED_LENGTH) return [];
  const skipped = new Set(stored.replace(/\n.*$/s, "").split(","));
  const missing = containers.filter(({ name }) => !skipped.has(name) && isContainerName(name)).map(({ name }) => name);
  if (missing.length === 0) return [];
  const value = [...missing, ...(stored === "" ? [] : [stored])].join(",");
  if (!isJsonObject(field(field(object, "metadata"), "annotations"))) {
    const annotations = { [SKIP_CONTAINERS_ANNOTATION]: value };
    return [{ op: "add", path: jsonPointer("metadata", "annotations"), value: annotations }];
  }
  return [{ op: "add", path: jsonPointer("metadata", "annotations", SKIP_CONTAINERS_ANNOTATION), value }];
}
