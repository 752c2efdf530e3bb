import { AUD_01, AUD_02, AUD_03, AUD_05, type AuditCheck } from "../checks/audit-checks.ts";
import { findingSentences } from "../checks/check.ts";
import type { ACKResource } from "../kubernetes/ack-resource.ts";
import { desiredRegion } from "../resolution/region.ts";
import type { ResourceScope, ResourceState } from "../resolution/stale-resources.ts";
import { type Problem, resourceSubject } from "./problem.ts";

/** The audit checks of a resource that are reported as Events, and the reasons of the Events. */
const CHECKS: readonly (readonly [check: AuditCheck, reason: string])[] = [
  [AUD_01, "SelectorConflict"], [AUD_02, "RoleUnresolved"], [AUD_03, "RoleDrift"], [AUD_05, "DefaultRole"],
];

/** Yields the problems of a resource that `audit` reports. Omits checks that `--check ID=off` disables. */
export function* resourceProblems(
  { resource, resolution }: ResourceState, { inventory, settings }: ResourceScope,
): Iterable<Problem> {
  const region = desiredRegion(inventory, resource, settings);
  for (const [check, reason] of CHECKS) {
    if (settings.checkSeverities.get(check.id) === "off") continue;
    for (const { message } of check.findInResource?.({ resource, resolution, region, settings }) ?? []) {
      yield { subject: resourceSubject(resource), reason, note: findingSentences({ message, fix: check.fix }) };
    }
  }
}

/** Returns the problem of a resource whose annotations cannot be updated because of `fault`. */
export function staleProblem(resource: ACKResource, fault: string): Problem {
  const note = "The annotations are stale: they do not match the role that resolves for the resource, and could not be "
    + `updated: ${fault}`;
  return { subject: resourceSubject(resource), reason: "StaleAnnotations", note };
}
