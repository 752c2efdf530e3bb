import { INJECT_LABEL } from "../annotation-keys.ts";
import { field, isJsonObject, type JsonObject, stringAt } from "../kubernetes/json.ts";
import type { Labels } from "../kubernetes/label-selector.ts";
import { objectReference } from "../kubernetes/object-meta.ts";

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
 * the Pod has any value except `false`, so that the webhook denies an invalid value. See manifests/pod-selection.ts.
 */
export function requestsSidecar({ pod }: PodTemplate, namespace: Labels): boolean {
  const own = stringAt(pod, "metadata", "labels", INJECT_LABEL);
  return own === null ? namespace.get(INJECT_LABEL) === "true" : own !== "false";
}
