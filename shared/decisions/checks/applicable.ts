import type { DecisionSettings, Operation } from "../context.ts";
import { Inventory } from "../inventory/inventory.ts";
import type { JsonObject } from "../kubernetes/json.ts";
import { definedKind, isACKGroup, isCARMMap, isKindDefinition, isNamespace, isSelector } from "../kubernetes/kinds.ts";
import { objectMeta } from "../kubernetes/object-meta.ts";
import { selectorFaults } from "../selectors/decode.ts";
import { KIND_REMOVAL_CHECKS } from "./catalogue.ts";
import { type CheckContext, type CheckInput, operationOf } from "./change.ts";
import { applied, type AppliedCheck, type Check } from "./check.ts";
import { configMapChange } from "./configmaps/change.ts";
import { CONFIG_MAP_CHECKS } from "./configmaps/list.ts";
import { namespaceChange } from "./namespaces/change.ts";
import { NAMESPACE_CHECKS } from "./namespaces/list.ts";
import { resourceChange } from "./resources/change.ts";
import { RESOURCE_CHECKS } from "./resources/list.ts";
import { selectorChange } from "./selectors/change.ts";
import { SELECTOR_CHANGE_CHECKS } from "./selectors/list.ts";
import { SELECTOR_CHECKS } from "./selectors/self-checks.ts";

/** Whether any check looks at such an object. */
export function isChecked(object: JsonObject): boolean {
  return isSelector(object) || isResource(object) || isNamespace(object) || isCARMMap(object);
}

function isResource(object: JsonObject): boolean {
  return isACKGroup(objectMeta(object).group);
}

/** Every check that looks at such a change, each with its subject. */
export function applicableChecks(input: CheckInput, settings: DecisionSettings): AppliedCheck[] {
  const operation = operationOf(input);
  return checksOf(input, settings).filter(({ check }) => (check.on ?? WRITES).includes(operation));
}

function checksOf(input: CheckInput, settings: DecisionSettings): AppliedCheck[] {
  if (isSelector(input.object)) return [...selectorChecks(input, settings), ...selectorChangeChecks(input, settings)];
  if (isKindDefinition(input.object)) return kindRemovalChecks(input, settings);
  if (isNamespace(input.object)) return changeChecks(NAMESPACE_CHECKS, namespaceChange, input, settings);
  if (isCARMMap(input.object)) return changeChecks(CONFIG_MAP_CHECKS, configMapChange, input, settings);
  return isResource(input.object) ? resourceChecks(input, settings) : [];
}

const WRITES: readonly Operation[] = ["CREATE", "UPDATE"];

/** The faults of a selector hang together, since below what cannot be read nothing is judged: they are found once, for all checks. */
function selectorChecks({ object, old, origin }: CheckInput, { runtime }: DecisionSettings): AppliedCheck[] {
  const context = { origin, runtime };
  const faults = selectorFaults(object, context);
  const before = old === null || object === old ? null : selectorFaults(old, context);
  return SELECTOR_CHECKS.map((check) => ({
    check,
    find: () => faults.filter((one) => one.check === check).map(({ fault }) => fault),
    findBefore: before === null ? null : () => before.filter((one) => one.check === check).map(({ fault }) => fault),
  }));
}

function resourceChecks(input: CheckInput, settings: DecisionSettings): AppliedCheck[] {
  const { inventory = null, object, old } = input;
  if (inventory === null) return [];
  const operation = operationOf(input);
  // As if the stored resource were to be stored again, over itself.
  const before = old === null || object === old ? null : resourceChange({ ...input, object: old }, operation, settings, inventory);
  return applied(RESOURCE_CHECKS, resourceChange(input, operation, settings, inventory), before);
}

/** Where no inventory is, an empty one stands in for it, since much can be told from the object alone; what needs more says so. */
function changeChecks<Subject>(checks: readonly Check<Subject>[], subjectOf: (input: CheckInput, context: CheckContext) => Subject, input: CheckInput, settings: DecisionSettings): AppliedCheck[] {
  const { object, old, origin, requester } = input;
  const inventory = input.inventory ?? new Inventory({ runtime: settings.runtime, origin });
  const context = { operation: operationOf(input), settings, inventory, origin, requester };
  // As if the stored object were to be stored again, over itself.
  const before = old === null || object === old ? null : subjectOf({ ...input, object: old }, context);
  return applied(checks, subjectOf(input, context), before);
}

function kindRemovalChecks(input: CheckInput, settings: DecisionSettings): AppliedCheck[] {
  const { inventory = null, object, origin, requester } = input;
  if (inventory === null) return [];
  return applied(KIND_REMOVAL_CHECKS, { operation: operationOf(input), settings, inventory, origin, requester, ...definedKind(object) }, null);
}

function selectorChangeChecks(input: CheckInput, settings: DecisionSettings): AppliedCheck[] {
  const { inventory = null, object, old } = input;
  if (inventory === null) return [];
  const change = selectorChange(input, settings, inventory);
  // As if the stored selector were to be stored again, over itself.
  const before = old === null ? null : selectorChange({ ...input, object: old }, settings, inventory);
  return applied(SELECTOR_CHANGE_CHECKS, change, object === old ? null : before);
}
