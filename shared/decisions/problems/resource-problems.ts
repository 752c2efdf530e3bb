import { findingSentences, type QuickCheck, type Section } from "../checks/check.ts";
import { AC_01, AC_02, AC_03 } from "../checks/clusters/identity.ts";
import { AC_00 } from "../checks/clusters/reference.ts";
import type { ResourceChange } from "../checks/resources/change.ts";
import { ACK_07, ACK_08, ACK_10B } from "../checks/resources/drift.ts";
import { ACK_03, ACK_05, ACK_05B } from "../checks/resources/selection.ts";
import type { DecisionSettings } from "../context.ts";
import type { ErrorCode } from "../errors.ts";
import { referrerKindOf } from "../identities/kinds.ts";
import { type Referrer, refersToIdentity } from "../identities/referrer.ts";
import type { AnnotatedObject, ResourceScope, ResourceState } from "../resolution/stale-resources.ts";
import type { Resolution } from "../resolution/resolve.ts";
import { type Problem, resourceSubject } from "./problem.ts";

/** The checks of a resource whose faults are reported as Events. */
const CHECKS: readonly QuickCheck<ResourceChange>[] = [ACK_03, ACK_05, ACK_05B, ACK_07, ACK_08, ACK_10B];

/** The reasons of the Events about the faults in each section of `audit`. */
const REASONS: ReadonlyMap<Section | undefined, string> = new Map([
  ["conflicts", "SelectorConflict"], ["refused", "RoleUnresolved"], ["drift", "RoleDrift"],
  ["onDefault", "DefaultRole"],
]);

/**
 * Yields the faults of an ACK resource that its controller does not report, or the problem of an object that refers to
 * a CAPA identity. Yields at most one problem for each reason. Omits checks that `--check ID=off` disables.
 */
export function* resourceProblems(
  { resource, resolution }: ResourceState, { inventory, settings }: ResourceScope,
): Iterable<Problem> {
  if (refersToIdentity(resource)) {
    yield* referrerProblems(resource, resolution, settings);
    return;
  }
  const context = { operation: "AUDIT", settings, inventory, origin: "cluster", requester: null } as const;
  const stored = { ...context, object: {}, resource, resolution, stored: null, access: null };
  const subject = resourceSubject(resource);
  const reported = new Set<string>();
  for (const check of CHECKS.filter(({ id }) => settings.checkSeverities.get(id) !== "off")) {
    for (const { message, fix = check.fix, section = check.section } of check.find(stored)) {
      const reason = REASONS.get(section);
      if (reason === undefined || reported.has(reason)) continue;
      reported.add(reason);
      yield { subject, reason, note: findingSentences({ message, fix }) };
    }
  }
}

/** The check that reports a refused identity with the code. AC-02 reports the other codes. */
const REFUSALS: ReadonlyMap<ErrorCode | null, string> = new Map([
  ["ERR_IDENTITY_KIND", AC_00.id], ["ERR_IDENTITY_UNKNOWN", AC_01.id],
]);

const DEFAULT_FIX = "Set identityRef to another identity, or set --check AC-03=off if clusters are meant to use the "
  + "credentials of CAPA.";

/**
 * Yields a problem if CAPA cannot use the identity to which the object refers, or if CAPA uses its own credentials.
 * Templates use no credentials. Omits the problem if `--check ID=off` disables the check that reports it at admission.
 */
function* referrerProblems(
  referrer: Referrer, { outcome, code, message }: Resolution,
  { checkSeverities }: Pick<DecisionSettings, "checkSeverities">,
): Iterable<Problem> {
  if (outcome === "selected" || referrerKindOf(referrer)?.isTemplate === true) return;
  const isRefused = outcome === "refused";
  const check = isRefused ? (REFUSALS.get(code) ?? AC_02.id) : AC_03.id;
  if (checkSeverities.get(check) === "off") return;
  const subject = resourceSubject(referrer);
  yield isRefused
    ? { subject, reason: "IdentityRefused", note: `CAPA cannot use the identity of this object. ${message}` }
    : { subject, reason: "DefaultIdentity", note: `${message} ${DEFAULT_FIX}` };
}

/** Returns the problem of an object whose annotations cannot be updated because of `fault`. */
export function staleProblem(resource: AnnotatedObject, fault: string): Problem {
  const note = "The annotations are stale: they do not match the role that resolves for the object, and could not be "
    + `updated: ${fault}`;
  return { subject: resourceSubject(resource), reason: "StaleAnnotations", note };
}
