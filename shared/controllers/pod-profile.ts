import type { Problem } from "../core/problem.ts";
import { type Closures, closuresOf, missingFlags } from "../core/closures.ts";
import type { DecisionSettings } from "../core/context.ts";
import { OBJECT_NAME } from "../core/setting-definition.ts";
import { SETTINGS } from "../core/settings.ts";
import { field, type FieldPath, type JsonObject, stringAt } from "../formats/json.ts";
import { objectReference } from "../formats/object-meta.ts";
import { listOf } from "../formats/text.ts";
import { sidecarOf } from "../core/sidecar-container.ts";
import { type Container, decodePod, isPod, objectsAt, podTemplateOf, textAt } from "../core/pod.ts";
import { type Fault, findingSentences, type QuickCheck } from "../core/check.ts";
import { by, type Repair, set } from "../core/repair.ts";
import { environmentOf } from "./controller-arguments.ts";
import { sidecarFlags } from "./sidecar-session.ts";

/** A Pod that runs, or a workload that creates Pods. */
export interface StoredPod {
  readonly object: JsonObject;
  readonly settings: Pick<DecisionSettings, "injection" | "installationNamespaces" | "profileNamespaces">;
}

const PROFILE_FLAG = SETTINGS.profileNamespace.flag;

export const AUD_16: QuickCheck<StoredPod> = {
  id: "AUD-16",
  severity: "warn",
  reason: "A sidecar keeps the flags with which its Pod started. After an upgrade to the profile strict, one that does "
    + `not follow the profile of the installation (${PROFILE_FLAG}) still hands out the controllers' own role. `
    + "Injected sidecars follow it; those of a version before this flag, and your own, may not.",
  fix: `restart the Pod, so that the webhook injects the sidecar again; to your own sidecar, add ${PROFILE_FLAG}`,
  example: "# A Pod whose sidecar was injected before it could follow the profile, after helm upgrade to strict.",
  on: ["AUDIT"],
  *find({ object, settings: { injection, installationNamespaces, profileNamespaces } }): Iterable<Fault> {
    const template = podTemplateOf(object);
    const sidecar = template === null || hasEnded(object) ? null : sidecarOf(decodePod(template.pod));
    const closures = sidecar === null ? null : sidecarClosures(sidecar, profileNamespaces);
    const missing = closures === null ? [] : missingFlags(injection.closures, closures);
    if (sidecar === null || template === null || missing.length === 0) return;
    const message = `the sidecar runs without ${listOf(missing)}, which the profile of the installation requires, so `
      + "it can hand out credentials that the installation forbids";
    const add = `add ${PROFILE_FLAG}=${installationNamespaces.join(" or ")} to the arguments of the sidecar`;
    const fix = isPod(object)
      ? `run \`${restartOf(object)}\`; if the webhook does not inject this sidecar, first ${add}`
      : add;
    const path = [...template.path, "spec", sidecar.list, sidecar.index];
    const repairs = isPod(object) ? [] : followingRepairs(sidecar, path, installationNamespaces);
    yield { path, message, fix, repairs };
  },
};

/** Returns the repair after which the sidecar follows the profile, if the namespace of the profile is certain. */
function followingRepairs(sidecar: Container, path: FieldPath, namespaces: readonly string[]): readonly Repair[] {
  return namespaces.length === 1 ? argumentRepairs(sidecar, path, `${PROFILE_FLAG}=${namespaces.join()}`) : [];
}

/** Returns the repair that adds an argument to the container of a workload. Those of a Pod cannot change. */
export function argumentRepairs({ object }: Container, path: FieldPath, argument: string): readonly Repair[] {
  const args = [field(object, "args")].flat().filter((one) => one !== undefined);
  return by(set([...path, "args"], [...args, argument]));
}

/** Returns the problem of a Pod whose sidecar can hand out what the installation forbids, or null. */
export function podProblem(object: JsonObject, settings: StoredPod["settings"]): Problem | null {
  const [fault] = AUD_16.find({ object, settings });
  if (fault === undefined) return null;
  const { namespace, name } = objectReference(object);
  const subject = { apiVersion: "v1", kind: "Pod", namespace, name, uid: stringAt(object, "metadata", "uid") };
  const { message, fix = AUD_16.fix } = fault;
  return { subject, reason: "ProfileNotFollowed", note: findingSentences({ message: `T${message.slice(1)}`, fix }) };
}

export function hasEnded(object: JsonObject): boolean {
  const isDeleted = stringAt(object, "metadata", "deletionTimestamp") !== null;
  return isPod(object) && (isDeleted || ["Succeeded", "Failed"].includes(stringAt(object, "status", "phase") ?? ""));
}

/** The kinds whose Pods `kubectl rollout restart` replaces. */
const RESTARTABLE: ReadonlySet<string> = new Set(["Deployment", "StatefulSet", "DaemonSet"]);

/** Returns the command that replaces the Pod: by its Deployment, whose name is part of that of its ReplicaSet. */
function restartOf(pod: JsonObject): string {
  const { namespace, name } = objectReference(pod);
  const owner = objectsAt(field(pod, "metadata"), "ownerReferences").find((one) => one["controller"] === true) ?? {};
  const hash = stringAt(pod, "metadata", "labels", "pod-template-hash") ?? "";
  const [ownerKind, ownerName] = [textAt(owner, "kind"), textAt(owner, "name")];
  const isOfDeployment = ownerKind === "ReplicaSet" && hash !== "" && ownerName.endsWith(`-${hash}`);
  const [kind, target] = isOfDeployment
    ? ["Deployment", ownerName.slice(0, -hash.length - 1)]
    : [ownerKind, ownerName];
  // The API server does not check the name of an owner, and users copy the command.
  const isKnown = RESTARTABLE.has(kind) && new RegExp(OBJECT_NAME.regexp).test(target);
  return isKnown
    ? `kubectl -n ${namespace} rollout restart ${kind.toLowerCase()} ${target}`
    : `kubectl -n ${namespace} delete pod ${name}`;
}

/** The values that close nothing, for what is unknown. */
const OPEN = { profile: "enforce", base: "vend", unmatched: "base", sessionScope: "none" } as const;

/**
 * Returns what a sidecar closes by its flags and variables. Returns null if it follows the profile of the installation,
 * and so closes whatever the installation closes. The ConfigMap of a namespace that is not in `installed` is not that
 * profile; null if the namespaces of the installation are unknown.
 */
export function sidecarClosures(sidecar: Container, installed: readonly string[] | null): Closures | null {
  const followed = settingReader(sidecar)?.("profileNamespace");
  const isInstalled = installed === null || installed.some((namespace) => namespace === followed);
  return followed !== undefined && isInstalled ? null : ownClosures(sidecar);
}

type SettingReader = (name: "profileNamespace" | keyof typeof OPEN) => string | null | undefined;

/** Returns a function that returns the value of a setting, null if it is unknown; null if all settings are unknown. */
function settingReader(sidecar: Container): SettingReader | null {
  const flags = sidecarFlags(sidecar);
  if (flags === null) return null;
  const environment = environmentOf(sidecar);
  return (name) => {
    const flag = SETTINGS[name].flag.slice(2);
    const variable = `ACK_ROLE_RESOLVER_${flag.toUpperCase().replaceAll("-", "_")}`;
    return flags.has(flag) ? flags.get(flag) : environment.get(variable);
  };
}

/** Returns what a sidecar closes by its flags and variables, whatever it follows. */
export function ownClosures(sidecar: Container): Closures {
  const valueOf = settingReader(sidecar);
  // The container starts another program, such as a shell, or an argument is unknown.
  if (valueOf === null) return closuresOf(OPEN);
  const known = (name: keyof typeof OPEN): string | undefined => {
    const value = valueOf(name);
    return value === null ? OPEN[name] : value;
  };
  return closuresOf({
    profile: known("profile") ?? SETTINGS.profile.default, base: known("base"), unmatched: known("unmatched"),
    sessionScope: known("sessionScope"),
  });
}
