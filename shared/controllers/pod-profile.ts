import type { Problem } from "../core/problem.ts";
import { missingFlags } from "../core/closures.ts";
import type { DecisionSettings } from "../core/context.ts";
import { OBJECT_NAME } from "../core/setting-definition.ts";
import { SETTINGS } from "../core/settings.ts";
import { field, type JsonObject, stringAt } from "../formats/json.ts";
import { objectReference } from "../formats/object-meta.ts";
import { listOf } from "../formats/text.ts";
import { sidecarOf } from "../injection/injected-sidecar.ts";
import { decodePod, isPod, objectsAt, podTemplateOf, textAt } from "../core/pod.ts";
import { sidecarClosures } from "./sidecar-closures.ts";
import { type Fault, findingSentences, type QuickCheck } from "../core/check.ts";

/** A Pod that runs, or a workload that creates Pods. */
interface StoredPod {
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
      + "it can hand out the controllers' own role";
    const add = `add ${PROFILE_FLAG}=${installationNamespaces.join(" or ")} to the arguments of the sidecar`;
    const fix = isPod(object)
      ? `run \`${restartOf(object)}\`; if the webhook does not inject this sidecar, first ${add}`
      : add;
    yield { path: [...template.path, "spec", sidecar.list, sidecar.index], message, fix };
  },
};

/** Returns the problem of a Pod whose sidecar can hand out what the installation forbids, or null. */
export function podProblem(object: JsonObject, settings: StoredPod["settings"]): Problem | null {
  const [fault] = AUD_16.find({ object, settings });
  if (fault === undefined) return null;
  const { namespace, name } = objectReference(object);
  const subject = { apiVersion: "v1", kind: "Pod", namespace, name, uid: stringAt(object, "metadata", "uid") };
  const { message, fix = AUD_16.fix } = fault;
  return { subject, reason: "ProfileNotFollowed", note: findingSentences({ message: `T${message.slice(1)}`, fix }) };
}

function hasEnded(object: JsonObject): boolean {
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
