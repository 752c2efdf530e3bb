import { INJECT_LABEL } from "./annotation-keys.ts";
import { field, type FieldPath, isJsonObject, type JsonObject, stringAt } from "../formats/json.ts";
import type { Labels } from "../formats/label-selector.ts";
import { annotationAt, objectReference } from "../formats/object-meta.ts";

/** The Pod that a manifest creates: the manifest itself, or the template of a workload such as a Deployment. */
export interface PodTemplate {
  /** The path of the template in the manifest; [] for a Pod. */
  readonly path: readonly string[];
  readonly pod: JsonObject;
}

const TEMPLATE: readonly string[] = ["spec", "template"];

/** The path of the Pod in an object of each kind that creates Pods. */
const PATHS: ReadonlyMap<string, readonly string[]> = new Map([
  ["Pod.", []],
  ["ReplicationController.", TEMPLATE],
  ...["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"].map((kind) => [`${kind}.apps`, TEMPLATE] as const),
  ["Job.batch", TEMPLATE],
  ["CronJob.batch", ["spec", "jobTemplate", ...TEMPLATE]],
]);

/** Returns the Pod that an object creates, or null if its kind creates no Pods or if the template is missing. */
export function podTemplateOf(object: JsonObject): PodTemplate | null {
  const { group, kind } = objectReference(object);
  const path = PATHS.get(`${kind}.${group}`);
  if (path === undefined) return null;
  const pod = path.reduce<unknown>((value, key) => field(value, key), object);
  return isJsonObject(pod) ? { path, pod } : null;
}

/**
 * Whether the webhook reviews a Pod: because of its own label, or because of the label of its Namespace. The label of
 * the Pod has any value except `false`, so that the webhook denies an invalid value. See manifests/webhooks.ts.
 */
export function requestsSidecar({ pod }: PodTemplate, namespace: Labels): boolean {
  const own = stringAt(pod, "metadata", "labels", INJECT_LABEL);
  return own === null ? namespace.get(INJECT_LABEL) === "true" : own !== "false";
}

/** A variable of a container. */
export interface Variable {
  readonly name: string;
  /** The value; null if the value comes from another object. A missing value is "". */
  readonly value: string | null;
  readonly entry: JsonObject;
}

/** A volume mount of a container. */
export interface Mount {
  /** The name of the volume. */
  readonly volume: string;
  readonly mountPath: string;
  readonly entry: JsonObject;
}

export interface Container {
  readonly name: string;
  readonly image: string;
  /** The command and the arguments. */
  readonly words: readonly string[];
  readonly env: readonly Variable[];
  readonly mounts: readonly Mount[];
  readonly object: JsonObject;
  /** The position in the Pod, such as `spec.containers[INDEX]`. */
  readonly list: "containers" | "initContainers" | "ephemeralContainers";
  readonly index: number;
}

export interface Volume {
  readonly name: string;
  readonly entry: JsonObject;
}

/** The fields of a Pod that the injection reads. */
export interface Pod {
  readonly object: JsonObject;
  readonly containers: readonly Container[];
  readonly initContainers: readonly Container[];
  readonly ephemeralContainers: readonly Container[];
  readonly volumes: readonly Volume[];
  readonly hostNetwork: boolean;
}

export function isPod(object: JsonObject): boolean {
  const { group, kind } = objectReference(object);
  return group === "" && kind === "Pod";
}

/** The kubelet creates a mirror Pod to show a static Pod in the API. A change of the mirror Pod has no effect. */
export function isMirrorPod(object: JsonObject): boolean {
  return annotationAt(object, MIRROR_ANNOTATION) !== null;
}

export const MIRROR_ANNOTATION = "kubernetes.io/config.mirror";

/** Decodes a Pod. Treats a field of the wrong type as missing, because the API server never sends such a field. */
export function decodePod(object: JsonObject): Pod {
  const spec = field(object, "spec");
  return {
    object,
    containers: containersOf(spec, "containers"),
    initContainers: containersOf(spec, "initContainers"),
    ephemeralContainers: containersOf(spec, "ephemeralContainers"),
    volumes: objectsAt(spec, "volumes").map((entry) => ({ name: textAt(entry, "name"), entry })),
    hostNetwork: field(spec, "hostNetwork") === true,
  };
}

function containersOf(spec: unknown, list: Container["list"]): readonly Container[] {
  return objectsAt(spec, list).map((object, index) => decodeContainer(object, { list, index }));
}

/** Decodes a container at a position in the Pod. */
export function decodeContainer(object: JsonObject, position: Pick<Container, "list" | "index">): Container {
  return {
    name: textAt(object, "name"),
    image: textAt(object, "image"),
    words: [...textsAt(object, "command"), ...textsAt(object, "args")],
    env: objectsAt(object, "env").map(variableOf),
    mounts: objectsAt(object, "volumeMounts").map((entry) => (
      { volume: textAt(entry, "name"), mountPath: textAt(entry, "mountPath"), entry }
    )),
    object, ...position,
  };
}

function variableOf(entry: JsonObject): Variable {
  const value = field(entry, "valueFrom") === undefined ? textAt(entry, "value") : null;
  return { name: textAt(entry, "name"), value, entry };
}

/** Returns the objects in a list. An entry that is not an object becomes {}, so that all positions stay the same. */
export function objectsAt(object: unknown, key: string): readonly JsonObject[] {
  const list = field(object, key);
  return Array.isArray(list) ? list.map((one: unknown) => (isJsonObject(one) ? one : {})) : [];
}

/** Returns the text of a field, or "" if it is missing. */
export function textAt(object: JsonObject, key: string): string {
  return stringAt(object, key) ?? "";
}

function textsAt(object: unknown, key: string): readonly string[] {
  const list = field(object, key);
  return Array.isArray(list) ? list.filter((one) => typeof one === "string") : [];
}

/**
 * Returns the value of a variable. Returns null if the value comes from another object, and undefined if the variable
 * does not exist.
 */
export function valueOf({ env }: Pick<Container, "env">, name: string): string | null | undefined {
  // If a variable is defined twice, the kubelet uses the last definition.
  return env.findLast((one) => one.name === name)?.value;
}

/** Returns the path of a container, or of a field in the container. */
export function containerPath({ list, index }: Container, ...steps: FieldPath): FieldPath {
  return ["spec", list, index, ...steps];
}

/** Returns the path of a variable of a container, or of `env` if the variable does not exist. */
export function variablePath(container: Container, name: string): FieldPath {
  const index = container.env.findLastIndex((one) => one.name === name);
  return containerPath(container, "env", ...(index < 0 ? [] : [index]));
}
