import type { Container, Pod } from "./pod.ts";
import { SETTINGS } from "./settings.ts";

/** The name of the sidecar's container, in docs/sidecar.md too. */
export const SIDECAR_NAME = "ack-role-resolver";

/** The flags that the injection sets. */
export const INJECTED_FLAGS = {
  cluster: SETTINGS.cluster.flag, group: SETTINGS.group.flag, tokenFile: SETTINGS.tokenFile.flag,
  stateDir: SETTINGS.stateDir.flag,
} as const;

/** Returns the container of the sidecar: the container that the webhook injected, or that a user wrote. */
export function sidecarOf({ initContainers, containers }: Pod): Container | null {
  return [...initContainers, ...containers].find(isSidecar) ?? null;
}

/** Whether the container runs the sidecar. A sidecar that a user wrote can have any name. */
export function isSidecar({ name, words }: Container): boolean {
  return name === SIDECAR_NAME
    || words.includes("sidecar") && words.some((word) => word.split("=")[0] === INJECTED_FLAGS.group);
}
