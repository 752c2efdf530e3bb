import { isACKGroup } from "../ack-resource.ts";
import { isSelector, readSelector } from "../iamroleselector.ts";
import { Inventory } from "../inventory.ts";
import type { JsonObject } from "../json.ts";
import { objectMeta } from "../object-meta.ts";
import { decodeSelector } from "../role-selector.ts";
import type { DecisionSettings } from "../settings.ts";
import type { Names } from "../transition.ts";
import { CONFIG_MAP_CHECKS, KIND_REMOVAL_CHECKS, NAMESPACE_CHECKS, RESOURCE_CHECKS, SELECTOR_CHANGE_CHECKS } from "./catalogue.ts";
import { applied, type AppliedCheck, type Check, type CheckContext, type Operation, type SelectorChange } from "./check.ts";
import { configMapChange, isCARMMap } from "./config-map-change.ts";
import type { JudgeInput } from "./judge.ts";
import { definedKind, isKindDefinition } from "./kind-removal.ts";
import { isNamespace, namespaceChange } from "./namespace-change.ts";
import { resourceChange } from "./resource-change.ts";
import { SELECTOR_CHECKS } from "./selector-checks.ts";
import { SelectorEffects } from "./selector-effects.ts";
import { selectorFaults } from "./self-faults.ts";

/** Whether any check looks at such an object. */
export function isChecked(object: JsonObject): boolean {
  return isSelector(object) || isResource(object) || isNamespace(object) || isCARMMap(object);
}

function isResource(object: JsonObject): boolean {
  return isACKGroup(objectMeta(object).group);
}

/** Every check that looks at such a change, each with its subject. */
export function appliedChecks(input: JudgeInput, settings: DecisionSettings): AppliedCheck[] {
  const operation = operationOf(input);
  return checksOf(input, settings).filter(({ check }) => (check.on ?? WRITES).includes(operation));
}

function checksOf(input: JudgeInput, settings: DecisionSettings): AppliedCheck[] {
  if (isSelector(input.object)) return [...selectorChecks(input, settings), ...selectorChangeChecks(input, settings)];
  if (isKindDefinition(input.object)) return kindRemovalChecks(input, settings);
  if (isNamespace(input.object)) return changeChecks(NAMESPACE_CHECKS, namespaceChange, input, settings);
  if (isCARMMap(input.object)) return changeChecks(CONFIG_MAP_CHECKS, configMapChange, input, settings);
  return isResource(input.object) ? resourceChecks(input, settings) : [];
}

const NOBODY: Names = new Set();

const WRITES: readonly Operation[] = ["CREATE", "UPDATE"];

function operationOf({ operation, old }: JudgeInput): Operation {
  return operation ?? (old === null ? "CREATE" : "UPDATE");
}

/** The faults of a selector hang together, since below what cannot be read nothing is judged: they are found once, for all checks. */
function selectorChecks({ object, old, origin }: JudgeInput, { runtime }: DecisionSettings): AppliedCheck[] {
  const context = { origin, runtime };
  const faults = selectorFaults(object, context);
  const before = old === null || object === old ? null : selectorFaults(old, context);
  return SELECTOR_CHECKS.map((check) => ({
    check,
    find: () => faults.filter((one) => one.check === check).map(({ fault }) => fault),
    findBefore: before === null ? null : () => before.filter((one) => one.check === check).map(({ fault }) => fault),
  }));
}

function resourceChecks(input: JudgeInput, settings: DecisionSettings): AppliedCheck[] {
  const { inventory = null, object, old } = input;
  if (inventory === null) return [];
  const operation = operationOf(input);
  // As if the stored resource were to be stored again, over itself.
  const before = old === null || object === old ? null : resourceChange({ ...input, object: old }, operation, settings, inventory);
  return applied(RESOURCE_CHECKS, resourceChange(input, operation, settings, inventory), before);
}

/** Where no inventory is, an empty one stands in for it, since much can be told from the object alone; what needs more says so. */
function changeChecks<Subject>(checks: readonly Check<Subject>[], subjectOf: (input: JudgeInput, context: CheckContext) => Subject, input: JudgeInput, settings: DecisionSettings): AppliedCheck[] {
  const { object, old, origin, requester } = input;
  const inventory = input.inventory ?? new Inventory({ runtime: settings.runtime, origin });
  const context = { operation: operationOf(input), settings, inventory, origin, requester };
  // As if the stored object were to be stored again, over itself.
  const before = old === null || object === old ? null : subjectOf({ ...input, object: old }, context);
  return applied(checks, subjectOf(input, context), before);
}

function kindRemovalChecks(input: JudgeInput, settings: DecisionSettings): AppliedCheck[] {
  const { inventory = null, object, origin, requester } = input;
  if (inventory === null) return [];
  return applied(KIND_REMOVAL_CHECKS, { operation: operationOf(input), settings, inventory, origin, requester, ...definedKind(object) }, null);
}

function selectorChangeChecks(input: JudgeInput, settings: DecisionSettings): AppliedCheck[] {
  const { inventory = null, object, old } = input;
  if (inventory === null) return [];
  const change = selectorChange(input, settings, inventory);
  // As if the stored selector were to be stored again, over itself.
  const before = old === null ? null : selectorChange({ ...input, object: old }, settings, inventory);
  return applied(SELECTOR_CHANGE_CHECKS, change, object === old ? null : before);
}

function selectorChange(input: JudgeInput, settings: DecisionSettings, inventory: Inventory): SelectorChange {
  const { object, old, origin, requester, leaving = NOBODY } = input;
  const operation = operationOf(input);
  const context = { origin, runtime: settings.runtime };
  const decoded = decodeSelector(object, context).selector;
  const deleting = operation === "DELETE";
  const stored = deleting ? object : old;
  const before = stored === null ? null : deleting ? decoded : decodeSelector(stored, context).selector;
  const after = deleting ? null : decoded;
  const written = readSelector(object);
  return {
    operation, settings, inventory, origin, requester, object,
    written, before, after,
    old: stored === null ? null : readSelector(stored),
    leaving,
    effects: new SelectorEffects({ inventory, settings, step: { name: written.name, before, after, leaving } }),
  };
}
