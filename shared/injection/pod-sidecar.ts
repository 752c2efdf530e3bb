import { stringAt } from "../formats/json.ts";
import { quote } from "../formats/text.ts";
import { type Container, containerPath, type Pod, valueOf, variablePath } from "../core/pod.ts";
import { groupOf } from "./injection-request.ts";
import type { ReservedUse } from "./reserved-names.ts";
import { FULL_URI, METADATA_DISABLED, REGION, STS_ENDPOINT, TOKEN_FILE } from "../core/sdk-variables.ts";
import { SIDECAR_NAME } from "../core/sidecar-container.ts";
import { CONTROLLER_TOKEN_FILE, isLoopbackURL, REGION_REFERENCE } from "./injected-sidecar.ts";
import type { Fault, QuickCheck } from "../core/check.ts";
import { by, type Edit, remove, type Repair, safely, set } from "../core/repair.ts";
import { isRegion } from "../formats/arn.ts";
import type { PodCreation } from "./pod-request.ts";

const NO_IMAGE = {
  message: "the Pod has no sidecar, and the webhook injects none because --sidecar-image is not set",
  fix: "set --sidecar-image of the webhook, or add the sidecar to the Pod as docs/sidecar.md describes",
};
const REMOVED = {
  message: "the Pod has no sidecar: the mutating webhook was not called, or another webhook removed the container",
  fix: "check that the MutatingWebhookConfiguration ack-role-resolver has the webhooks for Pods, and that no other "
    + `webhook removes the init container ${SIDECAR_NAME}`,
};

export const POD_04: QuickCheck<PodCreation> = {
  id: "POD-04",
  severity: "deny",
  reason: "Without a running sidecar, the controller would use the identity of the Pod or node for all resources.",
  fix: NO_IMAGE.fix,
  example: "spec: {containers: [{name: controller, image: s3-controller}]} # after another webhook removed the sidecar",
  *find({ pod, controllers: [controller], sidecar, reserved, injection }): Iterable<Fault> {
    // With the use of a reserved name, POD-11 states why the webhook injects no sidecar.
    if (controller === undefined || reserved.length > 0) return;
    if (sidecar === null) {
      const fault = injection.image === null ? NO_IMAGE : REMOVED;
      // Without a group, POD-03 states why the webhook injects no sidecar.
      if (injection.image === null || groupOf(pod, controller, injection.extraGroups).group !== null) {
        yield { path: ["spec", "initContainers"], ...fault };
      }
    } else if (sidecar.list === "initContainers" && stringAt(sidecar.object, "restartPolicy") !== "Always") {
      const message = `the init container ${quote(sidecar.name)} never completes, so the controller never starts`;
      const fix = "set restartPolicy of the init container to Always";
      const repairs = safely(set(containerPath(sidecar, "restartPolicy"), "Always"));
      yield { path: containerPath(sidecar), message, fix, repairs };
    }
  },
};

const UNSET = "remove the variable from the container";

export const POD_05: QuickCheck<PodCreation> = {
  id: "POD-05",
  severity: "deny",
  reason: "The controller uses the sidecar only if its variables name its endpoints and token file.",
  fix: "remove the variable from the container; the webhook sets it",
  example: "spec: {containers: [{env: [{name: AWS_ENDPOINT_URL_STS, value: https://sts.example.com}]}]}",
  *find({ controllers, sidecar }): Iterable<Fault> {
    for (const controller of controllers) {
      for (const one of SWITCHES) yield* switchFaults(controller, one);
      if (sidecar === null) {
        yield* presetFaults(controller);
        continue;
      }
      yield* endpointFaults(controller, FULL_URI);
      yield* tokenFaults(controller, sidecar);
      if (valueOf(controller, STS_ENDPOINT) !== undefined) {
        yield* endpointFaults(controller, STS_ENDPOINT);
      } else {
        const message = `${STS_ENDPOINT} is not set, so the controller assumes roles at AWS and not at the sidecar`;
        const value = "http://127.0.0.1:9780/sts";
        const [fix, repairs] = [`set ${STS_ENDPOINT} to ${value}`, added(controller, STS_ENDPOINT, value)];
        yield { path: variablePath(controller, STS_ENDPOINT), message, fix, repairs, severity: "warn" };
      }
    }
  },
};

/** Returns the repair that removes a variable, which the webhook then sets if the controller needs it. */
function removed(controller: Container, name: string): Pick<Fault, "path" | "repairs"> {
  const path = variablePath(controller, name);
  return { path, repairs: by(remove(path)) };
}

function added(controller: Container, name: string, value: string): readonly Repair[] {
  return by(set(containerPath(controller, "env", controller.env.length), { name, value }));
}

/** A variable with a boolean value, with which SDKs can bypass the sidecar. */
interface Switch {
  readonly name: string;
  readonly expected: "true" | "false";
  readonly effect: string;
}

const SWITCHES: readonly Switch[] = [
  {
    name: "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", expected: "false",
    effect: `SDKs ignore ${STS_ENDPOINT}, and the controller assumes roles at AWS and not at the sidecar`,
  },
  {
    name: METADATA_DISABLED, expected: "true",
    effect: "some SDKs use the role of the node while the sidecar is not available",
  },
];

/** Yields a fault if the switch has another value. SDKs treat an empty variable like "false". */
function* switchFaults(controller: Container, { name, expected, effect }: Switch): Iterable<Fault> {
  const value = valueOf(controller, name);
  if (value === undefined || (value === "" ? "false" : value?.toLowerCase()) === expected) return;
  yield { ...removed(controller, name), message: `${name} is not "${expected}", so ${effect}`, fix: UNSET };
}

/** Yields the variables of a Pod without a sidecar that the injection would not replace. */
function* presetFaults(controller: Container): Iterable<Fault> {
  for (const name of [FULL_URI, STS_ENDPOINT]) {
    if (valueOf(controller, name) !== undefined) yield* endpointFaults(controller, name);
  }
  const file = valueOf(controller, TOKEN_FILE);
  if (file === undefined || file === CONTROLLER_TOKEN_FILE) return;
  const message = `${TOKEN_FILE} does not name the token file of the sidecar, ${CONTROLLER_TOKEN_FILE}`;
  yield { ...removed(controller, TOKEN_FILE), message, fix: POD_05.fix };
}

function* endpointFaults(controller: Container, name: string): Iterable<Fault> {
  const value = valueOf(controller, name);
  if (value === undefined) {
    const url = "http://127.0.0.1:9780/v1/credentials";
    const [path, fix] = [variablePath(controller, name), `set ${name} to ${url}`];
    const message = `${name} is not set, so SDKs do not use the sidecar`;
    yield { path, message, fix, repairs: added(controller, name, url) };
  } else if (value === null) {
    const message = `the value of ${name} comes from another object, so it is unknown whether it names the sidecar`;
    yield { ...removed(controller, name), message, fix: POD_05.fix };
  } else if (!isLoopbackURL(value)) {
    const message = `the value ${quote(value)} of ${name} is not an http URL on loopback, such as those of the sidecar`;
    yield { ...removed(controller, name), message, fix: POD_05.fix };
  }
}

/** The token file must be in a volume that the controller and the sidecar mount. */
function* tokenFaults(controller: Container, sidecar: Container): Iterable<Fault> {
  const file = valueOf(controller, TOKEN_FILE) ?? "";
  const shared = new Set(sidecar.mounts.map(({ volume }) => volume));
  const isShared = controller.mounts.some(({ volume, mountPath }) => (
    shared.has(volume) && file.startsWith(`${mountPath.replace(/\/$/, "")}/`)
  ));
  if (isShared) return;
  const message = `the file ${quote(file)} of ${TOKEN_FILE} is not in a volume that the sidecar mounts`;
  const fix = `remove ${TOKEN_FILE} and the mount of the token volume from the container; the webhook sets both`;
  const { path, repairs } = removed(controller, TOKEN_FILE);
  yield { path, message, fix, ...(file !== "" && { repairs }) };
}

export const POD_09: QuickCheck<PodCreation> = {
  id: "POD-09",
  severity: "deny",
  reason: "The sidecar calls STS in the region of the controller. Without a region, the sidecar does not start.",
  fix: `set the variable ${REGION} of the controller's container, or add --region=REGION to --sidecar-args of the `
    + "webhook",
  example: "spec: {containers: [{name: controller, image: s3-controller, env: []}]}",
  *find({ controllers: [controller], sidecar }): Iterable<Fault> {
    if (controller === undefined || sidecar === null) return;
    if (!sidecar.words.some((word) => word.includes(REGION_REFERENCE))) return;
    const region = valueOf(sidecar, REGION);
    if (region !== undefined && region !== "") return;
    const message = `the region of the sidecar is unknown: the container has no value of ${REGION} that can be copied`;
    const path = variablePath(controller, REGION);
    const written = regionOfArguments(controller);
    const repairs = written === null ? [] : by(withRegion(controller, written));
    yield { path, message, fix: POD_09.fix, repairs };
  },
};

/** Returns the edit that sets the variable of the region, in its place if it exists. */
function withRegion(controller: Container, value: string): Edit {
  const index = controller.env.findLastIndex(({ name }) => name === REGION);
  const at = index < 0 ? controller.env.length : index;
  return set(containerPath(controller, "env", at), { name: REGION, value });
}

/** Returns the region in the arguments of a controller of ACK, or null. */
function regionOfArguments({ words }: Container): string | null {
  const [, inWord] = words.map((word) => /^--aws-region=(.*)$/.exec(word)).findLast((one) => one !== null) ?? [];
  const region = inWord ?? words[words.lastIndexOf("--aws-region") + 1] ?? "";
  return isRegion(region) ? region : null;
}

export const POD_11: QuickCheck<PodCreation> = {
  id: "POD-11",
  severity: "deny",
  reason: "The webhook reserves the names of the container and the volumes that it adds. If it reused what a user "
    + "wrote under such a name, the sidecar could run another image, or its token could be on the disk of the node.",
  fix: "choose another name, and let the webhook add its own container and volumes",
  example: `spec: {initContainers: [{name: ${SIDECAR_NAME}, image: other}]}`,
  *find({ pod, reserved }): Iterable<Fault> {
    const ownVolumes = new Set(reserved.filter(({ found }) => found === "volume").map(({ name }) => name));
    for (const { path, ...use } of reserved) {
      const renamed = ownVolumes.has(use.name) && use.found !== "container";
      // The container of the path, or the mount.
      const removal = remove(use.found === "container" ? path.slice(0, CONTAINER_STEPS) : path);
      yield { path, ...textOf(use), repairs: by(...renamed ? volumeRename(pod, use.name) : [removal]) };
    }
  },
};

/** The steps of the path of a container: spec, the list and the index. */
const CONTAINER_STEPS = 3;

function volumeRename({ containers, initContainers, ephemeralContainers, volumes }: Pod, name: string): Edit[] {
  const other = `own-${name}`;
  const mounts = [...containers, ...initContainers, ...ephemeralContainers].flatMap((container) => (
    container.mounts.flatMap(({ volume }, i) => (
      volume === name ? [set(containerPath(container, "volumeMounts", i, "name"), other)] : []
    ))
  ));
  const named = volumes.flatMap((one, i) => (one.name === name ? [set(["spec", "volumes", i, "name"], other)] : []));
  return [...named, ...mounts];
}

function textOf({ name, found, field }: Omit<ReservedUse, "path">): Pick<Fault, "message" | "fix"> {
  if (found === "mount") {
    const message = `the volume ${quote(name)} is reserved: only the mounts that the webhook adds may use it`;
    return { message, fix: "remove the mount, or mount a volume with another name" };
  }
  if (found === "volume") {
    const message = `the volume ${quote(name)} has a reserved name, and is not the volume that the webhook adds`;
    return { message, fix: "rename the volume" };
  }
  const difference = field === "" ? "" : `: ${quote(field)} differs`;
  const message = `the container ${quote(name)} has a reserved name, and is not what the webhook adds${difference}`;
  return { message, fix: "rename or remove the container, and let the webhook add the sidecar" };
}
