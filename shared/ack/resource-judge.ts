import { pathInAdopted } from "./adopted-resource.ts";
import { ADOPTED_RESOURCE_CHECKS, creationOf } from "./adopted-resources.ts";
import { FIELD_EXPORT_CHECKS } from "./field-exports.ts";
import { ADOPTED_RESOURCE, FIELD_EXPORT, RESOURCE, RESOURCE_LIKE } from "./kinds.ts";
import { ACK_12, ACK_17 } from "./resource-adoption.ts";
import { ACK_02, ACK_10, ACK_10_OF_DEFAULTS, ACK_11, ACK_13, ACK_15, ACK_20 } from "./resource-annotations.ts";
import { crossingsOnce, type ResourceChange, resourceChange } from "./resource-change.ts";
import { ACK_37, ACK_38, ACK_39 } from "./resource-crossings.ts";
import { ACK_07, ACK_08, ACK_10B, ACK_30, ACK_31, ACK_32, ACK_40 } from "./resource-drift.ts";
import { ACK_03, ACK_05, ACK_05B, ACK_06, ACK_09 } from "./resource-selection.ts";
import { ACK_36 } from "./role-inputs.ts";
import { IRS_04_OF_RESOURCES } from "./selector-account.ts";
import { IRS_52_OF_OBJECTS } from "./selector-kinds.ts";
import { usesOfResource } from "./selector-uses.ts";
import { storedResource } from "./stored-objects.ts";
import { type ACKResource, queryOf, type ResourceQuery, statusOf } from "../core/ack-resource.ts";
import type { AdmissionRequest, SkipReason } from "../core/admission.ts";
import { bindChecks, bindIn, type BoundChecks } from "../core/bind.ts";
import { ofChange, within } from "../core/binding.ts";
import {
  type Check, type CheckInput, contextOf, type Finding, findingSentences, hasOldObject, type QuickCheck, type Section,
} from "../core/check.ts";
import type { DecisionSettings } from "../core/context.ts";
import { resourceSubject } from "../core/event-subjects.ts";
import { isSameContent, mutationExemptionOf } from "../core/exemptions.ts";
import type { Judge } from "../core/judge.ts";
import type { ProblemScope, ResolvedObject } from "../core/problem.ts";
import type { ReviewNeeds } from "../core/review-needs.ts";
import { runBoundChecks } from "../core/run.ts";
import { limitCheck } from "../core/size-limits.ts";
import { IRS_10_OF_OBJECTS } from "../core/unknown-namespace.ts";
import type { JsonObject } from "../formats/json.ts";
import { drain } from "../formats/paced.ts";

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
const resourceProblems: NonNullable<Judge["problems"]> = function* (object, scope) {
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

const resourceFindings: NonNullable<Judge["findings"]> = (object, scope) => (
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

/** The checks that run when an ACK resource changes. */
const RESOURCE_CHECKS: readonly Check<ResourceChange>[] = [
  ACK_02, ACK_03, ACK_05, ACK_05B, ACK_06, ACK_07, ACK_08, ACK_09, ACK_10, ACK_10_OF_DEFAULTS, ACK_10B, ACK_11,
  ACK_12, ACK_13, ACK_15, ACK_17, ACK_20, ACK_30, ACK_31, ACK_32, ACK_36, ACK_37, ACK_38, ACK_39, ACK_40,
];

const CHANGED_RESOURCE_CHECKS = [...RESOURCE_CHECKS, IRS_04_OF_RESOURCES, IRS_10_OF_OBJECTS, IRS_52_OF_OBJECTS];
const LIMIT = limitCheck(RESOURCE.limit);

const bindResource = within(LIMIT, resourceChecks);
const bindType = ofChange([IRS_52_OF_OBJECTS], ({ object }, context) => ({ ...context, object }));

const NEEDS: ReviewNeeds = { namespace: "required", uses: { check: ACK_09, of: usesOfResource } };

export const RESOURCE_JUDGE: Judge = {
  kind: RESOURCE, checks: [...RESOURCE_CHECKS, LIMIT], bind: bindResource, stored: storedResource, review: NEEDS,
  record: { roleObject: recordedResource }, problems: resourceProblems, findings: resourceFindings,
};

/**
 * Returns the resource to resolve, with the namespace of the request and the stored status. On a create, no status is
 * stored. On an update, the API server restores the stored status, because every ACK kind has the status subresource.
 */
function recordedResource(object: JsonObject, request: AdmissionRequest): ResourceQuery | SkipReason {
  const { namespace, oldObject } = request;
  if (namespace === "") return "not managed";
  const exemption = mutationExemptionOf(request);
  return exemption ?? { ...queryOf(object, namespace), namespace, status: statusOf(oldObject ?? {}) };
}

export const RESOURCE_LIKE_JUDGE: Judge = { kind: RESOURCE_LIKE, checks: [IRS_52_OF_OBJECTS], bind: bindType };

const bindAdopted = within(LIMIT, (input) => {
  // A stored fault only warns if the spec stays the same.
  const isUnchanged = hasOldObject(input) && isSameContent(input.object, input.old);
  return [bindChecks(ADOPTED_RESOURCE_CHECKS, input.object, isUnchanged ? input.old : null)];
});

export const ADOPTED_RESOURCE_JUDGE: Judge = {
  kind: ADOPTED_RESOURCE, checks: ADOPTED_RESOURCE_CHECKS, review: { ...NEEDS, causes: creationOf },
  bind: (input, settings) => [
    ...bindType(input, settings), ...bindAdopted(input, settings), ...creationChecks(input, settings),
  ],
};

const EXPORT_LIMIT = limitCheck(FIELD_EXPORT.limit);
const bindExport = within(EXPORT_LIMIT, (input, settings) => {
  const { object } = input;
  // A stored fault only warns if the spec stays the same: a change of any of its fields can change what the controller
  // writes.
  const isUnchanged = hasOldObject(input) && isSameContent(object, input.old);
  return [bindChecks(FIELD_EXPORT_CHECKS, { object, settings }, isUnchanged ? { object: input.old, settings } : null)];
});

export const FIELD_EXPORT_JUDGE: Judge = {
  kind: FIELD_EXPORT, checks: [...FIELD_EXPORT_CHECKS, EXPORT_LIMIT], readsInventory: () => false,
  bind: (input, settings) => [...bindType(input, settings), ...bindExport(input, settings)],
};

function resourceChecks(input: CheckInput, settings: DecisionSettings): BoundChecks[] {
  const { inventory = null } = input;
  if (inventory === null) return [];
  const change = resourceChange(input, contextOf(input, settings, inventory));
  // The checks also examine the old resource, to find the faults that it already has.
  const before = hasOldObject(input) && change.stored !== null ? { ...change, ...change.stored } : null;
  return [bindChecks(CHANGED_RESOURCE_CHECKS, change, before)];
}

/** Returns the checks of the resource that a write of an AdoptedResource creates. */
function creationChecks(input: CheckInput, settings: DecisionSettings): BoundChecks[] {
  const creation = creationOf(input);
  const checks = creation === null ? [] : bindResource(creation, settings);
  return checks.map((bound) => bindIn(pathInAdopted, bound));
}
