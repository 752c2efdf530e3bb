import type { Fault, QuickCheck } from "../core/check.ts";
import { INFRASTRUCTURE_GROUP } from "../core/capa-kinds.ts";
import { tightest } from "../core/closures.ts";
import { environmentOf } from "./controller-arguments.ts";
import { type Container, decodePod, isPod, podTemplateOf } from "../core/pod.ts";
import { combinedPolicies } from "../core/session-policies.ts";
import { scopeOf } from "../core/session-scope.ts";
import { NO_EXTRAS } from "../core/session.ts";
import { SETTINGS } from "../core/settings.ts";
import { sidecarOf } from "../core/sidecar-container.ts";
import { errorMessage } from "../formats/errors.ts";
import { argumentRepairs, hasEnded, ownClosures, sidecarClosures, type StoredPod } from "./pod-profile.ts";

const CLOSE_BASE = "--base=identity-only";
const SCOPE = `${SETTINGS.sessionScope.flag}=service`;

export const AUD_17: QuickCheck<StoredPod> = {
  id: "AUD-17",
  severity: "warn",
  reason: "With the session scope `service`, a sidecar issues a session only if it knows what the controllers of its "
    + "groups need, and if that fits into a session policy. The credentials of its own role, which it hands out "
    + "unless told otherwise, are limited only with IRSA, or if the role may assume itself. `audit --cluster --profile "
    + "strict` tells so before an upgrade.",
  fix: `set ${CLOSE_BASE} of the sidecar, and run a sidecar for each controller, or set its session scope to none`,
  example: "# A Pod whose sidecar has the arguments --group=new.services.k8s.aws --session-scope=service.",
  on: ["AUDIT"],
  *find({ object, settings: { injection, profileNamespaces } }): Iterable<Fault> {
    const template = podTemplateOf(object);
    const sidecar = template === null || hasEnded(object) ? null : sidecarOf(decodePod(template.pod));
    if (sidecar === null || template === null) return;
    const closures = sidecarClosures(sidecar, profileNamespaces) ?? tightest(ownClosures(sidecar), injection.closures);
    if (!closures.sessionScope) return;
    const path = [...template.path, "spec", sidecar.list, sidecar.index];
    const fault = scopeFault(groupsOf(sidecar));
    if (fault !== null) yield { path, ...noSession(fault) };
    if (closures.base) return;
    const message = `the sidecar hands out the credentials of its own role, which ${SCOPE} does not limit, unless it `
      + "uses IRSA or its role may assume itself";
    const repairs = isPod(object) ? [] : argumentRepairs(sidecar, path, CLOSE_BASE);
    yield { path, message, fix: `set ${CLOSE_BASE} of the sidecar`, repairs };
  },
};

/** The error says why in its first sentence, and what to do in the others. */
function noSession(fault: string): Pick<Fault, "message" | "fix"> {
  const [why = "", ...fix] = fault.split(". ");
  const cause = `${why.charAt(0).toLowerCase()}${why.slice(1)}`;
  return { message: `with ${SCOPE}, the sidecar issues no session of a role: ${cause}`, fix: fix.join(". ") };
}

/** Returns the groups of the sidecar that need a row in the table, by its arguments or its variable. */
function groupsOf(sidecar: Container): readonly string[] {
  const { words } = sidecar;
  const { flag } = SETTINGS.group;
  const values = words.flatMap((word, i) => (
    word.startsWith(`${flag}=`) ? [word.slice(flag.length + 1)] : word === flag ? [words[i + 1] ?? ""] : []
  ));
  const variable = environmentOf(sidecar).get("ACK_ROLE_RESOLVER_GROUP") ?? "";
  const groups = (values.length > 0 ? values : [variable]).flatMap((value) => value.split(","));
  return groups.filter((group) => group !== "" && group !== INFRASTRUCTURE_GROUP);
}

/** Returns why sessions cannot be limited to what the controllers of the groups need, with what to do; or null. */
function scopeFault(groups: readonly string[]): string | null {
  try {
    if (groups.length > 0) combinedPolicies(NO_EXTRAS, NO_EXTRAS, scopeOf(groups));
    return null;
  } catch (error) {
    return errorMessage(error);
  }
}
