import type { ACKResource } from "../core/ack-resource.ts";
import { bindChecks } from "../core/bind.ts";
import { contextOf, type Finding, findingSentences, type QuickCheck, type Section } from "../core/check.ts";
import type { Judge } from "../core/judge.ts";
import { resourceSubject } from "../core/event-subjects.ts";
import { type ProblemScope, type ResolvedObject } from "../core/problem.ts";
import { runBoundChecks } from "../core/run.ts";
import { drain } from "../formats/paced.ts";
import { ACK_02 } from "./resource-annotations.ts";
import { crossingsOnce, type ResourceChange } from "./resource-change.ts";
import { ACK_07, ACK_08, ACK_10B } from "./resource-drift.ts";
import { ACK_03, ACK_05, ACK_05B } from "./resource-selection.ts";

/** The checks of a resource whose faults are reported as Events. */
const CHECKS: readonly QuickCheck<ResourceChange>[] = [ACK_03, ACK_05, ACK_05B, ACK_07, ACK_08, ACK_10B];
const CHECKS_OF_STORED = [...CHECKS, ACK_02];

/** The reasons of the Events about the faults in each section of `audit`. */
const REASONS: ReadonlyMap<Section | undefined, string> = new Map([
  ["conflicts", "SelectorConflict"], ["refused", "RoleUnresolved"], ["drift", "RoleDrift"],
  ["onDefault", "DefaultRole"],
]);

/**
 * Yields the faults of an ACK resource that its controller does not report. Yields at most one problem for each reason.
 * Omits checks that `--check ID=off` disables.
 */
export const resourceProblems: NonNullable<Judge["problems"]> = function* (object, scope) {
  if (!isStored(object)) return;
  const subject = resourceSubject(object.resource);
  const reported = new Set<string>();
  for (const finding of findingsOf(CHECKS, object, scope)) {
    const reason = REASONS.get(finding.section);
    if (reason === undefined || reported.has(reason)) continue;
    reported.add(reason);
    yield { subject, reason, note: findingSentences(finding) };
  }
};

export const resourceFindings: NonNullable<Judge["findings"]> = (object, scope) => (
  isStored(object) ? findingsOf(CHECKS_OF_STORED, object, scope) : []
);

interface ResolvedResource extends ResolvedObject {
  readonly resource: ACKResource;
}

/** The store of ACK resources contains no other objects. */
function isStored(object: ResolvedObject): object is ResolvedResource {
  return "created" in object.resource;
}
function findingsOf(
  checks: readonly QuickCheck<ResourceChange>[], { resource, resolution }: ResolvedResource,
  { inventory, settings }: ProblemScope,
): readonly Finding[] {
  const object = {};
  const input = { object, old: null, operation: "AUDIT", origin: "cluster", requester: null, inventory } as const;
  const change = {
    ...contextOf(input, settings, inventory), object, resource, resolution, crossings: crossingsOnce(object),
    stored: null, access: null,
  };
  return drain(runBoundChecks([bindChecks(checks, change, null)], input, settings)).findings;
}
