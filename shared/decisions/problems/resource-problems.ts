import { AUD_01, AUD_02, AUD_03, AUD_05 } from "../checks/audit/resolution.ts";
import { findingSentences } from "../checks/check.ts";
import { refersToIdentity } from "../identities/referrer.ts";
import { desiredRegion } from "../resolution/region.ts";
import type { AnnotatedObject, ResourceScope, ResourceState } from "../resolution/stale-resources.ts";
import { type Problem, resourceSubject } from "./problem.ts";
import { referrerProblems } from "./referrer-problems.ts";

/** The reasons of the Events about the audit checks of a resource. Other checks are not reported as Events. */
const REASONS = [
  [AUD_01, "SelectorConflict"], [AUD_02, "RoleUnresolved"], [AUD_03, "RoleDrift"], [AUD_05, "DefaultRole"],
] as const;

/**
 * Yields the problems of an ACK resource that `audit` reports, or the problem of an object that refers to a CAPA
 * identity. Omits checks that `--check ID=off` disables.
 */
export function* resourceProblems(
  { resource, resolution }: ResourceState, { inventory, settings }: ResourceScope,
): Iterable<Problem> {
  if (refersToIdentity(resource)) {
    yield* referrerProblems(resource, resolution, settings);
    return;
  }
  const region = desiredRegion(inventory, resource, settings);
  for (const [check, reason] of REASONS) {
    if (settings.checkSeverities.get(check.id) === "off") continue;
    for (const { message } of check.findInResource({ resource, resolution, region, settings })) {
      yield { subject: resourceSubject(resource), reason, note: findingSentences({ message, fix: check.fix }) };
    }
  }
}

/** Returns the problem of an object whose annotations cannot be updated because of `fault`. */
export function staleProblem(resource: AnnotatedObject, fault: string): Problem {
  const note = "The annotations are stale: they do not match the role that resolves for the object, and could not be "
    + `updated: ${fault}`;
  return { subject: resourceSubject(resource), reason: "StaleAnnotations", note };
}
