import type { DecisionSettings, Occasion } from "../context.ts";
import { Inventory } from "../inventory/inventory.ts";
import type { JsonObject } from "../kubernetes/json.ts";
import {
  definedKind, isACKGroup, isCARMMap, isFieldExport, isKindDefinition, isNamespace, isSelector,
} from "../kubernetes/kinds.ts";
import { objectReference } from "../kubernetes/object-meta.ts";
import { isPod } from "../pods/pod.ts";
import { type PodTemplate, podTemplateOf, requestsSidecar } from "../pods/template.ts";
import { type DecodedSelector, decodeSelector } from "../selectors/decode.ts";
import { type CheckContext, type CheckInput, contextOf, hasOldObject, operationOf } from "./change.ts";
import { bindChecks, type BoundCheck, type Check, type QuickCheck } from "./check.ts";
import { clusterChange, useChange } from "./clusters/change.ts";
import { CLUSTER_CHECKS } from "./clusters/list.ts";
import { AC_05 } from "./clusters/use.ts";
import { configMapChange } from "./configmaps/change.ts";
import { CONFIG_MAP_CHECKS } from "./configmaps/list.ts";
import { isClusterPart } from "../identities/cluster-parts.ts";
import { isIdentity, isReferrer } from "../identities/kinds.ts";
import { identityChange } from "./identities/change.ts";
import { IDENTITY_CHECKS } from "./identities/list.ts";
import { CI_33, isUnknownIdentity } from "./identities/shape.ts";
import { isSameContent } from "../exemptions.ts";
import { FIELD_EXPORT_CHECKS } from "./field-exports/target.ts";
import { DEFINITION_CHECKS } from "./definitions/blind-spots.ts";
import { KIND_DELETION_CHECKS } from "./definitions/deletion.ts";
import { AC_08, ACK_35, CI_34, CM_14, FE_02, NS_14, POD_10 } from "./any-kind/limits.ts";
import { META_01 } from "./any-kind/metadata.ts";
import { namespaceChange } from "./namespaces/change.ts";
import { NAMESPACE_CHECKS } from "./namespaces/list.ts";
import { podCreation } from "./pods/change.ts";
import { POD_CHECKS, templateChecks } from "./pods/pod-checks.ts";
import { resourceChange } from "./resources/change.ts";
import { ACK_02_OF_CLUSTERS } from "./resolution-annotations.ts";
import { RESOURCE_CHECKS } from "./resources/list.ts";
import { IRS_04_OF_RESOURCES } from "./selectors/account.ts";
import { SELECTOR_CHANGE_CHECKS } from "./selectors/change-checks.ts";
import { selectorChange } from "./selectors/change.ts";
import { IRS_48 } from "./selectors/limits.ts";
import { IRS_51, isSelectorLike } from "./selectors/near-miss.ts";
import { SELECTOR_SELF_CHECKS } from "./selectors/self-checks.ts";
import { REMOVED_WAIVERS, WAIVER_01 } from "./any-kind/waiver.ts";

/**
 * Returns whether any check of manifests applies to an object. Of the Pods and the workloads that create Pods, only
 * those that request a sidecar are checked.
 */
export function isChecked(object: JsonObject, { namespaces }: Pick<Inventory, "namespaces">): boolean {
  return isSelectorLike(object) || isResource(object) || isNamespace(object) || isCARMMap(object)
    || isFieldExport(object) || isIdentity(object) || isUnknownIdentity(object) || isReferrer(object)
    || reviewedTemplate(object, namespaces) !== null;
}

/** Returns the Pod that a manifest creates if it requests a sidecar, else null. */
function reviewedTemplate(object: JsonObject, namespaces: Inventory["namespaces"]): PodTemplate | null {
  const template = podTemplateOf(object);
  const { namespace } = objectReference(object);
  const labels = namespaces.labelsOf(namespace === "" ? "default" : namespace);
  return template !== null && requestsSidecar(template, labels) ? template : null;
}

function isResource(object: JsonObject): boolean {
  return isACKGroup(objectReference(object).group);
}

const BY_DEFAULT: readonly Occasion[] = ["CREATE", "UPDATE", "AUDIT"];

/**
 * Returns every check that applies to the change or to the audited object, together with the data that the check
 * examines. Decodes each object only once.
 */
export function applicableChecks(input: CheckInput, settings: DecisionSettings): BoundCheck[] {
  const operation = operationOf(input);
  const checks = checksOf(input, settings).filter(({ check }) => (check.on ?? BY_DEFAULT).includes(operation));
  if (operation !== "AUDIT") return checks;
  return checks.map((bound) => ({ ...bound, check: { ...bound.check, ...bound.check.inAudit } }));
}

function checksOf(input: CheckInput, settings: DecisionSettings): BoundCheck[] {
  const { object } = input;
  if (isSelector(object)) return [...nearMissChecks(input), ...selectorChecks(input, settings)];
  if (isSelectorLike(object)) return nearMissChecks(input);
  if (isKindDefinition(object)) return kindDefinitionChecks(input, settings);
  if (isNamespace(object)) {
    return withinLimits(NS_14, input, settings, () => (
      changeChecks(NAMESPACE_CHECKS, namespaceChange, input, settings)
    ));
  }
  if (isCARMMap(object)) {
    return withinLimits(CM_14, input, settings, () => (
      changeChecks(CONFIG_MAP_CHECKS, configMapChange, input, settings)
    ));
  }
  if (isFieldExport(object)) return withinLimits(FE_02, input, settings, () => fieldExportChecks(input, settings));
  if (podTemplateOf(object) !== null) {
    return withinLimits(POD_10, input, settings, () => podChecks(input, settings));
  }
  if (isResource(object)) return withinLimits(ACK_35, input, settings, () => resourceChecks(input, settings));
  return capaChecks(input, settings);
}

/** Returns the checks of a Pod after its admission, or of the Pod that a manifest creates. */
function podChecks({ object, origin, inventory = null }: CheckInput, settings: DecisionSettings): BoundCheck[] {
  if (origin === "cluster" && isPod(object)) return bindChecks(POD_CHECKS, podCreation(object, settings), null);
  const template = inventory === null ? null : reviewedTemplate(object, inventory.namespaces);
  return template === null ? [] : templateChecks(template, settings);
}

/**
 * Returns the checks of a FieldExport. A stored fault only warns if the spec stays the same: a change of any of its
 * fields can change what the controller writes.
 */
function fieldExportChecks(input: CheckInput, settings: DecisionSettings): BoundCheck[] {
  const { object } = input;
  const isUnchanged = hasOldObject(input) && isSameContent(object, input.old);
  return bindChecks(FIELD_EXPORT_CHECKS, { object, settings }, isUnchanged ? { object: input.old, settings } : null);
}

/** Returns the checks of CAPA identities, and of objects that refer to identities. */
function capaChecks(input: CheckInput, settings: DecisionSettings): BoundCheck[] {
  const { object, inventory = null } = input;
  const isLike = isUnknownIdentity(object);
  const spelling = isLike || isIdentity(object) ? bindChecks([CI_33], { object, inventory }, null) : [];
  if (isLike) return spelling;
  if (isIdentity(object)) {
    return [...spelling, ...withinLimits(CI_34, input, settings, () => (
      changeChecks(IDENTITY_CHECKS, identityChange, input, settings)
    ))];
  }
  if (isClusterPart(object)) return partChecks(input, settings);
  if (!isReferrer(object)) return [];
  return withinLimits(AC_08, input, settings, () => (
    changeChecks([...CLUSTER_CHECKS, ACK_02_OF_CLUSTERS], clusterChange, input, settings)
  ));
}

/** Returns the checks of an object that uses the identity of its Cluster. Each of them concerns only the requester. */
function partChecks(input: CheckInput, settings: DecisionSettings): BoundCheck[] {
  const [excess] = operationOf(input) === "DELETE" ? [] : AC_08.find(input.object);
  if (excess !== undefined) return bindChecks([AC_08], input.object, null);
  return changeChecks([AC_05], useChange, input, settings);
}

/**
 * Returns the checks of an object, or only the limit check and WAIVER-01 if the object exceeds a limit. The limit check
 * only warns controllers, and WAIVER-01 reads a limited part of one annotation.
 */
function withinLimits(
  limitCheck: QuickCheck<JsonObject>, input: CheckInput, settings: DecisionSettings, checks: () => BoundCheck[],
): BoundCheck[] {
  // The limit check does not run at DELETE, because users must be able to delete an object that was stored before the
  // check existed.
  const [excess] = operationOf(input) === "DELETE" ? [] : limitCheck.find(input.object);
  const ofWaivers = waiverChecks(input, settings);
  if (excess !== undefined) return [...bindChecks([limitCheck], input.object, null), ...ofWaivers];
  return [...checks(), ...bindChecks([META_01], input.object, input.old), ...ofWaivers];
}

function nearMissChecks({ object, inventory = null }: CheckInput): BoundCheck[] {
  return bindChecks([IRS_51], { object, inventory }, null);
}

function waiverChecks({ object, old, requester }: CheckInput, settings: DecisionSettings): BoundCheck[] {
  return bindChecks([WAIVER_01, REMOVED_WAIVERS], { object, old, requester, settings }, null);
}

function selectorChecks(input: CheckInput, settings: DecisionSettings): BoundCheck[] {
  const context = { origin: input.origin, runtime: settings.runtime };
  const decoded = decodeSelector(input.object, context);
  const old = hasOldObject(input) ? decodeSelector(input.old, context) : null;
  const selfChecks = bindChecks(DECODED_SELECTOR_CHECKS, decoded, old);
  const { inventory = null } = input;
  const exceedsLimit = decoded.faults.some(({ check }) => check === IRS_48);
  if (inventory === null || (exceedsLimit && operationOf(input) !== "DELETE")) return selfChecks;
  const changeContext = contextOf(input, settings, inventory);
  const stored = input.old === null ? null : (old ?? decoded);
  const change = selectorChange(changeContext, input, { decoded, stored });
  // The checks also examine the old selector, to find the faults that it already has.
  const before = old === null ? null : selectorChange(changeContext, input, { decoded: old, stored: old });
  return [
    ...selfChecks, ...bindChecks(SELECTOR_CHANGE_CHECKS, change, before), ...waiverChecks(input, settings),
  ];
}

/**
 * Self checks that return the faults that `decodeSelector` has found, so that no self check runs twice for a selector.
 */
const DECODED_SELECTOR_CHECKS = SELECTOR_SELF_CHECKS.map((check): QuickCheck<DecodedSelector> => ({
  ...check,
  find: ({ faults }) => faults.filter((one) => one.check === check).map(({ fault }) => fault),
}));

function resourceChecks(input: CheckInput, settings: DecisionSettings): BoundCheck[] {
  const { inventory = null } = input;
  if (inventory === null) return [];
  const change = resourceChange(input, contextOf(input, settings, inventory));
  // The checks also examine the old resource, to find the faults that it already has.
  const before = hasOldObject(input) && change.stored !== null ? { ...change, ...change.stored } : null;
  return bindChecks([...RESOURCE_CHECKS, IRS_04_OF_RESOURCES], change, before);
}

/**
 * Binds the checks to the change that they examine. Without an inventory, the checks run on an empty inventory. Binds
 * no check if `subjectOf` returns null.
 */
function changeChecks<Subject>(
  checks: readonly Check<Subject>[],
  subjectOf: (input: CheckInput, context: CheckContext) => Subject | null,
  input: CheckInput,
  settings: DecisionSettings,
): BoundCheck[] {
  const inventory = input.inventory ?? new Inventory({ runtime: settings.runtime, origin: input.origin });
  const context = contextOf(input, settings, inventory);
  // The checks also examine the old object, to find the faults that it already has.
  const before = hasOldObject(input) ? subjectOf({ ...input, object: input.old }, context) : null;
  const subjects = [subjectOf(input, context)].filter((subject) => subject !== null);
  return subjects.flatMap((subject) => bindChecks(checks, subject, before));
}

function kindDefinitionChecks(input: CheckInput, settings: DecisionSettings): BoundCheck[] {
  const { inventory = null, object, storedSelectors: selectors = [] } = input;
  if (inventory === null) return waiverChecks(input, settings);
  const deletion = { ...contextOf(input, settings, inventory), ...definedKind(object) };
  const stored = { ...definedKind(object), inventory, selectors, extraGroups: settings.injection.extraGroups };
  return [
    ...bindChecks(KIND_DELETION_CHECKS, deletion, null), ...bindChecks(DEFINITION_CHECKS, stored, null),
    ...waiverChecks(input, settings),
  ];
}
