import { SKIP_CONTAINERS_ANNOTATION } from "../annotation-keys.ts";
import {
  field, isJsonObject, type JsonObject, jsonPointer, type PatchOperation,
} from "../kubernetes/json.ts";
import { annotationAt } from "../kubernetes/object-meta.ts";
import { eksIdentityOf, missingRegion } from "./identity.ts";
import { type Container, type Pod, textAt, type Variable } from "./pod.ts";
import { controllersOf, groupOf, isRequested } from "./request.ts";
import type { InjectionSettings } from "./settings.ts";
import {
  CONTROLLER_MOUNT, CONTROLLER_VARIABLES, SIDECAR_VOLUMES, sidecarContainer, sidecarOf,
} from "./sidecar.ts";

/**
 * Returns the patch that adds the sidecar to a Pod. The patch is empty if the Pod requests no sidecar, or if the checks
 * deny the Pod because its controller or group is unknown. The patch of a patched Pod is empty.
 *
 * If the Pod has a sidecar, the patch only moves the credentials that the identity webhook of EKS added to the
 * controller. So the order of the two webhooks does not matter.
 */
export function injectionPatch(pod: Pod, settings: InjectionSettings): readonly PatchOperation[] {
  const controllers = controllersOf(pod);
  if (!isRequested(pod) || !controllers.found) return [];
  const { containers } = controllers;
  const existing = sidecarOf(pod);
  if (existing !== null) {
    const changed = containers.map((one) => withoutIdentity(one, existing.env));
    const own = withIdentity(existing, containers[0]);
    return [...skipOperations(pod, containers), ...changed.flatMap(fieldOperations), ...fieldOperations(own)];
  }
  const [controller] = containers;
  const { group } = groupOf(pod, controller, settings.extraGroups);
  const { image, args } = settings;
  if (image === null || group === null) return [];
  const { env, mounts } = withIdentity(NO_CONTAINER, controller);
  return [
    ...skipOperations(pod, containers),
    ...fieldOperations(asClient(withoutIdentity(controller, []))),
    ...appendOperations(pod.object, "initContainers", [sidecarContainer({ image, args, group, env, mounts })]),
    ...appendOperations(pod.object, "volumes", missingVolumes(pod)),
  ];
}

/** The lists of a container after the injection, next to the container before it. */
interface ChangedContainer {
  readonly container: Pick<Container, "env" | "mounts" | "list" | "index">;
  readonly env: readonly JsonObject[];
  readonly mounts: readonly JsonObject[];
}

const NO_CONTAINER: ChangedContainer["container"] = { env: [], mounts: [], list: "initContainers", index: 0 };

/**
 * Returns the controller without the credentials of EKS. Adds the region that the identity webhook of EKS added to the
 * sidecar.
 */
function withoutIdentity(container: Container, ofSidecar: readonly Variable[]): ChangedContainer {
  const identity = eksIdentityOf(container);
  const region = missingRegion(ofSidecar, container.env);
  const env = [...container.env.filter((one) => !identity.env.includes(one)), ...region];
  const mounts = container.mounts.filter((one) => !identity.mounts.includes(one));
  return { container, env: entriesOf(env), mounts: entriesOf(mounts) };
}

/** Returns the sidecar with the region and the EKS credentials of the controller, unless it has its own. */
function withIdentity(container: ChangedContainer["container"], controller: Container): ChangedContainer {
  const identity = eksIdentityOf(controller);
  const region = missingRegion(controller.env, container.env);
  const names = new Set(container.env.map(({ name }) => name));
  const paths = new Set(container.mounts.map(({ mountPath }) => mountPath));
  // Never mixes two identities.
  const hasOwn = identity.env.some(({ name }) => names.has(name));
  const env = [...container.env, ...region, ...(hasOwn ? [] : identity.env)];
  const mounts = [...container.mounts, ...identity.mounts.filter(({ mountPath }) => !paths.has(mountPath))];
  return { container, env: entriesOf(env), mounts: entriesOf(mounts) };
}

/** Adds the variables and the mount with which the controller uses the sidecar. Never replaces a variable. */
function asClient({ container, env, mounts }: ChangedContainer): ChangedContainer {
  const names = new Set(env.map((one) => field(one, "name")));
  const paths = new Set(mounts.map((one) => field(one, "mountPath")));
  return {
    container,
    env: [...env, ...CONTROLLER_VARIABLES.filter((one) => !names.has(field(one, "name")))],
    mounts: [...mounts, ...[CONTROLLER_MOUNT].filter((one) => !paths.has(field(one, "mountPath")))],
  };
}

type Entries = readonly { readonly entry: JsonObject }[];

function entriesOf(list: Entries): readonly JsonObject[] {
  return list.map(({ entry }) => entry);
}

function missingVolumes({ volumes }: Pod): readonly JsonObject[] {
  const names = new Set(volumes.map(({ name }) => name));
  return SIDECAR_VOLUMES.filter((volume) => !names.has(textAt(volume, "name")));
}

/** Returns the operations that set the lists that differ. */
function fieldOperations({ container, env, mounts }: ChangedContainer): PatchOperation[] {
  const pathOf = (name: string): string => jsonPointer("spec", container.list, container.index, name);
  return [
    ...setOperations(pathOf("env"), env, container.env),
    ...setOperations(pathOf("volumeMounts"), mounts, container.mounts),
  ];
}

function setOperations(path: string, value: readonly JsonObject[], old: Entries): PatchOperation[] {
  const isSame = value.length === old.length && value.every((one, i) => one === old[i]?.entry);
  // `add` replaces an existing list.
  return isSame ? [] : [{ op: "add", path, value }];
}

/** Returns the operations that append values to a list of the Pod spec. */
function appendOperations(object: JsonObject, list: string, values: readonly JsonObject[]): PatchOperation[] {
  const exists = Array.isArray(field(field(object, "spec"), list));
  if (!exists) return [{ op: "add", path: jsonPointer("spec", list), value: values }];
  return values.map((value) => ({ op: "add", path: jsonPointer("spec", list, "-"), value }));
}

/**
 * Returns the operation that names the controllers in the annotation, so that the identity webhook of EKS skips them.
 * Adds the names before the existing names, because the webhook of EKS reads only the first line of the annotation.
 */
function skipOperations({ object }: Pod, containers: readonly Container[]): PatchOperation[] {
  const stored = annotationAt(object, SKIP_CONTAINERS_ANNOTATION) ?? "";
  const skipped = new Set(stored.replace(/\n.*$/s, "").split(","));
  const missing = containers.filter(({ name }) => !skipped.has(name)).map(({ name }) => name);
  if (missing.length === 0) return [];
  const value = [...missing, ...(stored === "" ? [] : [stored])].join(",");
  if (!isJsonObject(field(field(object, "metadata"), "annotations"))) {
    const annotations = { [SKIP_CONTAINERS_ANNOTATION]: value };
    return [{ op: "add", path: jsonPointer("metadata", "annotations"), value: annotations }];
  }
  return [{ op: "add", path: jsonPointer("metadata", "annotations", SKIP_CONTAINERS_ANNOTATION), value }];
}
