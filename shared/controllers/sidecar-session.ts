import type { SidecarSession } from "../core/session.ts";
import { INJECT_LABEL } from "../core/annotation-keys.ts";
import { defaultOf } from "../core/setting-definition.ts";
import { DEFINITIONS, SETTINGS } from "../core/settings.ts";
import { stringAt } from "../formats/json.ts";
import { type Arguments, argumentsOf } from "./controller-arguments.ts";
import { sidecarOf } from "../core/sidecar-container.ts";
import { type Container, objectsAt, type Pod } from "../core/pod.ts";
import { readSessionDefaults, type SessionDefaultSettings, sessionDefaultFaults } from "../core/session-defaults.ts";

/** The flags that take no value. */
const BOOLEANS: ReadonlySet<string> = new Set(DEFINITIONS.flatMap(([, { flag, type }]) => (
  type === "boolean" ? [flag] : []
)));

/** Returns the session settings of a Pod's sidecar, null without a sidecar, or a text that says why it is unknown. */
export function sidecarSessionOf(pod: Pod): SidecarSession | null | string {
  const sidecar = sidecarOf(pod);
  // The webhook adds the sidecar to the Pod, with the flags of --sidecar-args, which the Deployment does not show.
  if (sidecar === null) {
    return stringAt(pod.object, "metadata", "labels", INJECT_LABEL) === "true" ? sessionOf(new Map()) : null;
  }
  const flags = sidecarFlags(sidecar);
  if (flags === null) return "an argument of the sidecar is not in the Deployment";
  const isElsewhere = sidecar.env.some(({ name }) => /^ACK_ROLE_RESOLVER_(DEFAULT|SESSION)_/.test(name));
  if (isElsewhere || objectsAt(sidecar.object, "envFrom").length > 0) return "variables can set flags of the sidecar";
  return sessionOf(flags);
}

/** Returns the flags that a sidecar receives, or null if they are unknown. */
export function sidecarFlags(sidecar: Container): Arguments | null {
  return argumentsOf({ ...sidecar, words: sidecar.words.filter((word) => !BOOLEANS.has(word)) });
}

const ROWS = [
  SETTINGS.sessionName, SETTINGS.defaultExternalId, SETTINGS.defaultSourceIdentity, SETTINGS.defaultSessionTags,
] as const;

function sessionOf(flags: Arguments): SidecarSession | string {
  const [sessionName, defaultExternalId, defaultSourceIdentity, tags] = ROWS.map(({ flag }) => (
    flags.get(flag.slice(2))
  ));
  if ([sessionName, defaultExternalId, defaultSourceIdentity, tags].includes(null)) {
    return "the value of a flag of the sidecar is not in the Deployment";
  }
  return sidecarSession(sessionName ?? String(defaultOf(SETTINGS.sessionName, "sidecar")), {
    defaultExternalId: defaultExternalId ?? null, defaultSourceIdentity: defaultSourceIdentity ?? null,
    defaultSessionTags: tags?.split(",") ?? [],
  });
}

/** Returns the session settings of a sidecar with these flags, or the first fault of the flags. */
export function sidecarSession(sessionName: string, settings: SessionDefaultSettings): SidecarSession | string {
  const [fault] = sessionDefaultFaults(settings);
  if (fault !== undefined) return `the sidecar does not start: ${fault}`;
  return { sessionName, defaults: readSessionDefaults(settings) };
}
