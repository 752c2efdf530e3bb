import { IRS_51 } from "../ack/selector-crd.ts";
import type { DecisionSettings } from "../core/context.ts";
import { isPod, type PodTemplate, podTemplateOf, requestsSidecar } from "../core/pod.ts";
import {
  type Check, type CheckContext, type CheckEntry, type CheckInput, contextOf,
  hasOldObject, operationOf, type QuickCheck,
} from "../core/check.ts";
import { bindChecks, bindIn, type BoundChecks } from "../core/bind.ts";
import { podCreation } from "../injection/pod-request.ts";
import { AUD_16 } from "../injection/pod-profile.ts";
import { POD_04, POD_09 } from "../injection/pod-sidecar.ts";
import { isSameContent } from "../core/exemptions.ts";
import { Inventory } from "../core/inventory.ts";
import { INVENTORY_KINDS, type KindID, kindOf, type KindRow } from "../kinds.ts";
import type { SizedKind } from "../core/limits.ts";
import type { JsonObject } from "../formats/json.ts";
import { definedKind } from "../core/ack-groups.ts";
import { namespaceOrDefault, objectReference } from "../formats/object-meta.ts";
import type { JudgedSelector } from "../ack/selector.ts";
import { pathInAdopted } from "../ack/adopted-resource.ts";
import { ADOPTED_RESOURCE_CHECKS, creationOf } from "../ack/adopted-resources.ts";
import { META_01 } from "../core/any-kind.ts";
import { withEffectOfWaivers } from "../core/ineffective-waivers.ts";
import { WAIVER_01 } from "../core/waiver.ts";
import { AC_05, clusterChange, useChange } from "../capa/cluster-reference.ts";
import { configMapChange } from "../carm/carm-map-entries.ts";
import { AUD_15 } from "../controllers/controllers.ts";
import { DEFINITION_CHECKS, KIND_DELETION_CHECKS } from "../ack/definitions.ts";
import { FIELD_EXPORT_CHECKS } from "../ack/field-exports.ts";
import { identityChange } from "../capa/identity-change.ts";
import { CI_33 } from "../capa/identity-shape.ts";
import { namespaceChange } from "../core/namespace-change.ts";
import {
  CATALOGUE, CLUSTER_CHECKS, CONFIG_MAP_CHECKS, IDENTITY_CHECKS, NAMESPACE_CHECKS, POD_CHECKS, RESOURCE_CHECKS,
  SELECTOR_CHANGE_CHECKS,
} from "./catalogue.ts";
import { ACK_02_OF_CLUSTERS } from "../ack/forged-annotations.ts";
import { CI_07_OF_NEW } from "../capa/identity-use.ts";
import { resourceChange } from "../ack/resource-change.ts";
import { IRS_04_OF_RESOURCES } from "../ack/selector-account.ts";
import { roleTrustOf } from "./role-targets.ts";
import { TRUST_CHECKS } from "../trust/role-trust.ts";
import { selectorChange } from "../ack/selector-change.ts";
import { IRS_52_OF_OBJECTS } from "../ack/selector-kinds.ts";
import { IRS_48 } from "../ack/selector-breadth.ts";
import { IRS_53 } from "../ack/selector-template.ts";
import { IRS_10_OF_OBJECTS } from "../ack/selector-reach.ts";
import { limitCheck } from "../core/size-limits.ts";
import { judgeSelector, SELECTOR_SELF_CHECKS } from "../ack/judge-selector.ts";

/** Returns the checks of a change with the data that they examine. Decodes each object only once. */
type Bind = (input: CheckInput, settings: DecisionSettings) => BoundChecks[];

// The lists are constants, because `plannedChecks` (plan.ts) remembers what applies of a list.
const META_CHECKS = [META_01];
const WAIVER_CHECKS = [WAIVER_01];
const WORKLOAD_CHECKS = [AUD_15, AUD_16];
const STORED_POD_CHECKS = [AUD_16];
const TEMPLATE_CHECKS = [IRS_53];
const CHANGED_RESOURCE_CHECKS = [...RESOURCE_CHECKS, IRS_04_OF_RESOURCES, IRS_10_OF_OBJECTS, IRS_52_OF_OBJECTS];
const PART_LIMITS = [limitCheck("cluster")] as const;
const PART_CHECKS = ofChange([AC_05], useChange);
const TYPE_CHECKS = ofChange([IRS_52_OF_OBJECTS], ({ object }, context) => ({ ...context, object }));

const CHECKS_OF_IDENTITIES = within(
  "identity", withTrust(ofChange([...IDENTITY_CHECKS, CI_07_OF_NEW], identityChange)),
);

const CHECKS_OF_RESOURCES = within("resource", resourceChecks);

const NO_CHECKS: Bind = () => [];

/** The checks of each kind. */
const CHECKS: Record<KindID, Bind> = {
  selector: (input, settings) => [...spelling(IRS_51)(input), ...selectorChecks(input, settings)],
  "selector-like": spelling(IRS_51),
  "resource-like": TYPE_CHECKS,
  "selector-definition": definitionChecks,
  "resource-definition": definitionChecks,
  "other-definition": definitionChecks,
  namespace: within("namespace", ofChange(NAMESPACE_CHECKS, namespaceChange)),
  "carm-map": within("carm-map", withTrust(ofChange(CONFIG_MAP_CHECKS, configMapChange))),
  "field-export": (input, settings) => [
    ...TYPE_CHECKS(input, settings), ...within("field-export", fieldExportChecks)(input, settings),
  ],
  "adopted-resource": (input, settings) => [
    ...TYPE_CHECKS(input, settings), ...within("resource", adoptedResourceChecks)(input, settings),
    ...creationChecks(input, settings),
  ],
  resource: CHECKS_OF_RESOURCES,
  identity: (input, settings) => [
    ...spelling(CI_33)(input),
    ...CHECKS_OF_IDENTITIES(input, settings),
  ],
  "identity-like": spelling(CI_33),
  cluster: (input, settings) => [
    // A cluster serves the version of each of its objects.
    ...(input.origin === "file" ? spelling(CI_33)(input) : []),
    ...within("cluster", ofChange([...CLUSTER_CHECKS, ACK_02_OF_CLUSTERS, IRS_10_OF_OBJECTS], clusterChange))(
      input, settings,
    ),
  ],
  "cluster-part": partChecks,
  pod: (input, settings) => [
    // The other checks ask what the webhook would inject now, which says nothing about a Pod that runs.
    ...(input.origin === "cluster" && operationOf(input) === "AUDIT" ? [] : within("pod", podChecks)(input, settings)),
    bindChecks(STORED_POD_CHECKS, { object: input.object, settings }, null),
  ],
  workload: (input, settings) => [
    ...within("pod", podChecks)(input, settings), bindChecks(WORKLOAD_CHECKS, { object: input.object, settings }, null),
  ],
  secret: NO_CHECKS,
  "identity-accounts": NO_CHECKS,
};

/** Returns the check that reports a write of an object that is too large to be read; null if no check applies. */
export function limitCheckOf({ limit }: KindRow, operation: string): CheckEntry | null {
  const deletion = operation === "DELETE" ? limit : undefined;
  const code = deletion?.deletion ?? limit?.code;
  const check = CATALOGUE.find(({ id }) => id === code);
  return check === undefined ? null : { ...check, fix: deletion?.fix ?? check.fix };
}

const UNCHECKED: ReadonlySet<KindID> = new Set([
  "selector-definition", "resource-definition", "other-definition", "cluster-part", "secret",
]);

/**
 * Returns whether any check of manifests applies to an object. Of the Pods and the workloads that create Pods, only
 * those that request a sidecar are checked.
 */
export function isChecked(object: JsonObject, { namespaces }: Pick<Inventory, "namespaces">): boolean {
  const kind = kindOf(objectReference(object));
  if (kind === null || UNCHECKED.has(kind.id)) return false;
  return kind.id === "pod" || kind.id === "workload" ? reviewedTemplate(object, namespaces) !== null : true;
}

/** Returns the Pod that a manifest creates if it requests a sidecar, else null. */
function reviewedTemplate(object: JsonObject, namespaces: Inventory["namespaces"]): PodTemplate | null {
  const template = podTemplateOf(object);
  const labels = namespaces.labelsOf(namespaceOrDefault(objectReference(object).namespace));
  return template !== null && requestsSidecar(template, labels) ? template : null;
}

/** Returns every check of the object's kind, with the data that the check examines. */
export function checksOf(input: CheckInput, settings: DecisionSettings): readonly BoundChecks[] {
  const kind = kindOf(objectReference(input.object));
  return kind === null ? [] : withEffectOfWaivers(input, CHECKS[kind.id](input, settings));
}

/**
 * Returns the checks of an object, or only the limit check and WAIVER-01 if the object exceeds a limit. The limit check
 * only warns controllers, and WAIVER-01 reads a limited part of one annotation.
 */
function within(kind: SizedKind, checks: Bind): Bind {
  const limits = [limitCheck(kind)] as const;
  return (input, settings) => {
    const ofWaivers = waiverChecks(input, settings);
    if (exceeds(limits, input)) return [bindChecks(limits, input.object, null), ofWaivers];
    return [...checks(input, settings), bindChecks(META_CHECKS, input.object, input.old), ofWaivers];
  };
}

/** False at DELETE, because users must be able to delete an object that was stored before the limit existed. */
function exceeds([limit]: readonly [QuickCheck<JsonObject>], input: CheckInput): boolean {
  const [excess] = operationOf(input) === "DELETE" ? [] : limit.find(input.object);
  return excess !== undefined;
}

/**
 * Binds the checks to the change that they examine. Without an inventory, the checks run on an empty inventory. Binds
 * no check if `subjectOf` returns null.
 */
function ofChange<Subject>(
  checks: readonly Check<Subject>[], subjectOf: (input: CheckInput, context: CheckContext) => Subject | null,
): Bind {
  return (input, settings) => {
    const { origin } = input;
    const inventory = input.inventory ?? new Inventory({ runtime: settings.runtime, origin }, INVENTORY_KINDS);
    const context = contextOf(input, settings, inventory);
    const subjects = [subjectOf(input, context)].filter((subject) => subject !== null);
    // The checks also examine the old object, to find the faults that it already has.
    const old = hasOldObject(input) ? subjectOf({ ...input, object: input.old }, context) : null;
    return subjects.map((subject) => bindChecks(checks, subject, old));
  };
}

/** Adds the checks of the roles that the object names. */
function withTrust(checks: Bind): Bind {
  return (input, settings) => [
    ...checks(input, settings), bindChecks(TRUST_CHECKS, roleTrustOf(input, settings), null),
  ];
}

function spelling(check: typeof IRS_51 | typeof CI_33): (input: CheckInput) => BoundChecks[] {
  const checks = [check];
  return ({ object, inventory = null }) => [bindChecks(checks, { object, inventory }, null)];
}

function waiverChecks({ object, old, requester }: CheckInput, settings: DecisionSettings): BoundChecks {
  return bindChecks(WAIVER_CHECKS, { object, old, requester, settings }, null);
}

function definitionChecks(input: CheckInput, settings: DecisionSettings): BoundChecks[] {
  const { inventory = null, object, storedSelectors: selectors = [] } = input;
  if (inventory === null) return [waiverChecks(input, settings)];
  const deletion = { ...contextOf(input, settings, inventory), ...definedKind(object) };
  const stored = { ...definedKind(object), inventory, selectors, extraGroups: settings.injection.extraGroups };
  return [
    bindChecks(KIND_DELETION_CHECKS, deletion, null), bindChecks(DEFINITION_CHECKS, stored, null),
    waiverChecks(input, settings),
  ];
}

/** Returns the checks of a Pod after its admission, or of the Pod that a manifest creates. */
function podChecks({ object, origin, inventory = null }: CheckInput, settings: DecisionSettings): BoundChecks[] {
  if (origin === "cluster" && isPod(object)) return [bindChecks(POD_CHECKS, podCreation(object, settings), null)];
  const template = inventory === null ? null : reviewedTemplate(object, inventory.namespaces);
  return template === null ? [] : [templateChecks(template, settings)];
}

/**
 * Returns the checks of a FieldExport. A stored fault only warns if the spec stays the same: a change of any of its
 * fields can change what the controller writes.
 */
function fieldExportChecks(input: CheckInput, settings: DecisionSettings): BoundChecks[] {
  const { object } = input;
  const isUnchanged = hasOldObject(input) && isSameContent(object, input.old);
  return [bindChecks(FIELD_EXPORT_CHECKS, { object, settings }, isUnchanged ? { object: input.old, settings } : null)];
}

/** Returns the checks of an AdoptedResource itself. A stored fault only warns if the spec stays the same. */
function adoptedResourceChecks(input: CheckInput): BoundChecks[] {
  const isUnchanged = hasOldObject(input) && isSameContent(input.object, input.old);
  return [bindChecks(ADOPTED_RESOURCE_CHECKS, input.object, isUnchanged ? input.old : null)];
}

/** Returns the checks of the resource that a write of an AdoptedResource creates. */
function creationChecks(input: CheckInput, settings: DecisionSettings): BoundChecks[] {
  const creation = creationOf(input);
  const checks = creation === null ? [] : CHECKS_OF_RESOURCES(creation, settings);
  return checks.map((bound) => bindIn(pathInAdopted, bound));
}

/** Returns the checks of an object that uses the identity of its Cluster. Each of them concerns only the requester. */
function partChecks(input: CheckInput, settings: DecisionSettings): BoundChecks[] {
  if (exceeds(PART_LIMITS, input)) return [bindChecks(PART_LIMITS, input.object, null)];
  return PART_CHECKS(input, settings);
}

function selectorChecks(input: CheckInput, settings: DecisionSettings): BoundChecks[] {
  const context = { origin: input.origin, runtime: settings.runtime };
  const decoded = judgeSelector(input.object, context);
  const old = hasOldObject(input) ? judgeSelector(input.old, context) : null;
  const selfChecks = bindChecks(JUDGED_SELECTOR_CHECKS, decoded, old);
  const { inventory = null, template } = input;
  const exceedsLimit = decoded.faults.some(({ code }) => code === IRS_48.id);
  if (inventory === null || (exceedsLimit && operationOf(input) !== "DELETE")) return [selfChecks];
  const changeContext = contextOf(input, settings, inventory);
  const stored = input.old === null ? null : (old ?? decoded);
  const change = selectorChange(changeContext, input, { decoded, stored });
  // The checks also examine the old selector, to find the faults that it already has.
  const before = old === null ? null : selectorChange(changeContext, input, { decoded: old, stored: old });
  return [
    selfChecks, bindChecks(SELECTOR_CHANGE_CHECKS, change, before), waiverChecks(input, settings),
    bindChecks(TRUST_CHECKS, roleTrustOf(input, settings), null),
    ...(template === undefined ? [] : [bindChecks(TEMPLATE_CHECKS, { object: input.object, template }, null)]),
  ];
}

/**
 * Self checks that return the faults that `judgeSelector` has found, so that no self check runs twice for a selector.
 */
const JUDGED_SELECTOR_CHECKS = SELECTOR_SELF_CHECKS.map((check): QuickCheck<JudgedSelector> => ({
  ...check,
  when: ({ faults }) => faults.length > 0,
  find: ({ faults }) => faults.filter(({ code }) => code === check.id),
}));

function resourceChecks(input: CheckInput, settings: DecisionSettings): BoundChecks[] {
  const { inventory = null } = input;
  if (inventory === null) return [];
  const change = resourceChange(input, contextOf(input, settings, inventory));
  // The checks also examine the old resource, to find the faults that it already has.
  const before = hasOldObject(input) && change.stored !== null ? { ...change, ...change.stored } : null;
  return [bindChecks(CHANGED_RESOURCE_CHECKS, change, before)];
}

/**
 * The checks of a Pod before the webhook injects the sidecar. POD-09 is not part of them, because the identity webhook
 * of EKS can add the region.
 */
const OF_TEMPLATES = POD_CHECKS.filter((check) => check !== POD_04 && check !== POD_09);

/** Returns the checks of the Pod that a manifest creates. Their faults have paths in the manifest. */
function templateChecks({ pod, path }: PodTemplate, settings: DecisionSettings): BoundChecks {
  const creation = podCreation(pod, settings);
  const checks = creation.sidecar === null ? OF_TEMPLATES : [...OF_TEMPLATES, POD_04];
  return bindIn((inPod) => [...path, ...inPod], bindChecks(checks, creation, null));
}
