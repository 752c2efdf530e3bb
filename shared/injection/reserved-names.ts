import { field, type FieldPath, isJsonObject, isSame, type JsonObject } from "../formats/json.ts";
import { eksIdentityOf, isSharedVariable } from "./pod-identity.ts";
import { type Container, containerPath, decodeContainer, type Mount, type Pod, textAt } from "../core/pod.ts";
import { type Controllers, groupOf } from "./injection-request.ts";
import type { InjectionSettings } from "../core/sidecar-settings.ts";
import { SIDECAR_NAME } from "../core/sidecar-container.ts";
import { CONTROLLER_MOUNT, RESERVED_VOLUMES, sidecarContainer, sidecarVolumes } from "./injected-sidecar.ts";

// The injection must not reuse what a user wrote under its names: the sidecar would run another image, or its token
// would be on the disk of the node. The API server calls the webhook again with the Pod that it has already changed, so
// the reserved names are accepted for exactly what the injection adds.

/** A use of a reserved name for anything but what the injection adds. */
export interface ReservedUse {
  readonly path: FieldPath;
  /** The container or volume of that name; for a mount, its volume. */
  readonly name: string;
  readonly found: "container" | "volume" | "mount";
  /** The first field that differs from what the injection adds. Empty if the injection adds nothing at this place. */
  readonly field: string;
}

/** Returns each use of a reserved name for anything but what the injection adds. */
export function reservedUses(pod: Pod, controllers: Controllers, settings: InjectionSettings): readonly ReservedUse[] {
  const all = [...pod.initContainers, ...pod.containers, ...pod.ephemeralContainers];
  const controller = controllers.found ? controllers.containers[0] : null;
  const expected = controller === null ? null : expectedContainer(pod, controller, settings);
  return [
    ...all.filter(({ name }) => name === SIDECAR_NAME).flatMap((one) => containerUses(one, expected, settings)),
    ...volumeUses(pod, settings),
    ...all.filter(({ name }) => name !== SIDECAR_NAME).flatMap((one) => mountUses(one, one === controller)),
  ];
}

/** Returns the container that the injection adds, without what depends on the identity webhook of EKS. */
function expectedContainer(pod: Pod, controller: Container, settings: InjectionSettings): Container | null {
  const { group } = groupOf(pod, controller, settings.extraGroups);
  if (group === null) return null;
  const object = sidecarContainer({ image: settings.image ?? "", group, env: [], mounts: [] }, settings);
  return decodeContainer(object, { list: "initContainers", index: 0 });
}

function containerUses(
  container: Container, expected: Container | null, { image }: InjectionSettings,
): readonly ReservedUse[] {
  const use = { name: container.name, found: "container" } as const;
  if (expected?.list !== container.list) return [{ path: containerPath(container, "name"), ...use, field: "" }];
  // Offline commands do not know the flags of the webhook.
  const except = image === null ? ["image", "args"] : [];
  const changed = changedField(comparable(container), comparable(expected), except);
  return changed === null ? [] : [{ path: containerPath(container, changed), ...use, field: changed }];
}

/** Returns the first field that differs between two containers, or null. */
function changedField(a: JsonObject, b: JsonObject, except: readonly string[]): string | null {
  const names = new Set([...Object.keys(b), ...Object.keys(a)]);
  return [...names].find((name) => !except.includes(name) && !isSame(field(a, name), field(b, name))) ?? null;
}

/** Fields with which a container runs the same program: the API server and the LimitRanger set them. */
const WITHOUT_EFFECT: ReadonlySet<string> = new Set(["resources"]);

/** The values that the API server adds to a container: k8s.io/kubernetes pkg/apis/core/v1/defaults.go. */
const DEFAULTS: JsonObject = { terminationMessagePath: "/dev/termination-log", terminationMessagePolicy: "File" };
/** The API server uses the first or, for the tag latest and with AlwaysPullImages, the second one. */
const PULL_POLICIES: ReadonlySet<unknown> = new Set(["IfNotPresent", "Always"]);
const PROBE_DEFAULTS: JsonObject = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 };
const PROBES: ReadonlySet<string> = new Set(["startupProbe", "readinessProbe", "livenessProbe"]);

/**
 * Returns the fields of a container without defaults, and without what other parts of the cluster add to each
 * container: the identity of EKS, the region and the token for the API server.
 */
function comparable(container: Container): JsonObject {
  const identity = eksIdentityOf(container);
  const env = container.env.filter((one) => !identity.env.includes(one) && !isSharedVariable(one));
  const mounts = container.mounts.filter((one) => !identity.mounts.includes(one) && !isAPIAccess(one));
  const fields = Object.entries(withoutDefaults(container.object, DEFAULTS)).filter(([name, value]) => (
    !WITHOUT_EFFECT.has(name) && !(name === "imagePullPolicy" && PULL_POLICIES.has(value))
  ));
  return {
    ...Object.fromEntries(fields.map(([name, value]) => [name, withoutNestedDefaults(name, value)])),
    env: env.map(({ entry }) => entry), volumeMounts: mounts.map(({ entry }) => entry),
  };
}

function withoutNestedDefaults(name: string, value: unknown): unknown {
  if (name === "ports" && Array.isArray(value)) return value.map((port) => withoutDefaults(port, { protocol: "TCP" }));
  if (!PROBES.has(name) || !isJsonObject(value)) return value;
  const probe = withoutDefaults(value, PROBE_DEFAULTS);
  return { ...probe, httpGet: withoutDefaults(probe["httpGet"], { scheme: "HTTP" }) };
}

/** Returns the object without the fields that have their default value. */
function withoutDefaults(object: unknown, defaults: JsonObject): JsonObject {
  if (!isJsonObject(object)) return {};
  return Object.fromEntries(Object.entries(object).filter(([name, value]) => !isSame(value, field(defaults, name))));
}

const API_ACCESS = { volume: "kube-api-access-", mountPath: "/var/run/secrets/kubernetes.io/serviceaccount" } as const;

/** Whether the API server added the mount, for its own token. */
function isAPIAccess({ volume, entry }: Mount): boolean {
  const { mountPath } = API_ACCESS;
  return volume.startsWith(API_ACCESS.volume) && isSame(entry, { name: volume, readOnly: true, mountPath });
}

function volumeUses({ volumes }: Pod, settings: InjectionSettings): readonly ReservedUse[] {
  const expected = new Map(sidecarVolumes(settings).map((one) => [textAt(one, "name"), one]));
  return [...volumes.entries()].flatMap(([index, { name, entry }]) => {
    if (!RESERVED_VOLUMES.has(name) || isSame(withoutDefaultMode(entry), expected.get(name))) return [];
    return [{ path: ["spec", "volumes", index], name, found: "volume", field: "" } as const];
  });
}

/** Returns the volume without the mode that the API server adds to the files of a ConfigMap: 0644. */
function withoutDefaultMode(volume: JsonObject): JsonObject {
  const files = field(volume, "configMap");
  return isJsonObject(files) ? { ...volume, configMap: withoutDefaults(files, { defaultMode: 420 }) } : volume;
}

function mountUses(container: Container, isController: boolean): readonly ReservedUse[] {
  return [...container.mounts.entries()].flatMap(([index, { volume: name, entry }]) => {
    if (!RESERVED_VOLUMES.has(name) || (isController && isSame(entry, CONTROLLER_MOUNT))) return [];
    return [{ path: containerPath(container, "volumeMounts", index), name, found: "mount", field: "" } as const];
  });
}
