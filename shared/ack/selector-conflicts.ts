import { type Hits, listHits } from "./hits.ts";
import { SELECTORS } from "./selectors.ts";
import { REPLACES_ANNOTATION, USE_SELECTOR_ANNOTATION } from "../core/annotation-keys.ts";
import type { Origin } from "../core/context.ts";
import type { Inventory } from "../core/inventory.ts";
import { accountOfARN } from "../formats/arn.ts";
import { stringAt } from "../formats/json.ts";
import { compareText, countOf, listOf, MAX_NAMES } from "../formats/text.ts";
import { type Paced, paced } from "../formats/paced.ts";
import type { Transition } from "./change-set.ts";
import { type EffectiveSelector, selectsNamespace } from "../core/effective-selector.ts";
import { canOverlap } from "./selector-overlap.ts";
import type { Fault, ScanningCheck } from "../core/check.ts";
import { resourceInAccount, SCAN_LIMIT } from "../core/fault-texts.ts";
import { isReplacing, type SelectorChange } from "./selector-change.ts";
import { by, set } from "../core/repair.ts";
import { conflictRepairs } from "./selector-repairs.ts";
import { ACK_NEEDS } from "./requirements.ts";

export const IRS_17: ScanningCheck<SelectorChange> = {
  id: "IRS-17",
  severity: "deny",
  waivable: true,
  reason: "Controllers do not reconcile a resource that two selectors select, even if their roles are equal. "
    + "Controllers log an error and set no condition on the resource.",
  fix: "restrict the selectors so that only one of them selects each resource. To rename a selector or rotate its "
    + `role, create the new selector with the annotation ${REPLACES_ANNOTATION}: OLD-NAME, so that this overlap is `
    + "only a warning. Then delete the old selector",
  example: "# while IAMRoleSelector team-a selects the same namespace, and Bucket team-a/b1 exists\n"
    + "metadata: {name: new}\nspec: {arn: 'arn:aws:iam::111122223333:role/b', namespaceSelector: {names: [team-a]}}",
  requires: [ACK_NEEDS.resources],
  ofChange: true,
  *scan(change) {
    const { after, effects } = change;
    if (after === null) return [];
    const faults: Fault[] = [];
    const joins = yield* effects.of("joins conflict");
    if (joins.found > 0) faults.push(conflictFault(joins, after, change));
    const replaced = yield* effects.of("joins replaced");
    if (replaced.found > 0) faults.push(replacementFault(replaced, after));
    const stays = yield* effects.of("stays in conflict");
    if (stays.found > 0) {
      faults.push({ path: ["spec"], message: listConflicts(stays, "would stay in conflict", after), severity: "warn" });
    }
    return faults;
  },
};

const CHOICE = `its annotation ${USE_SELECTOR_ANNOTATION}`;

function conflictFault(hits: Hits, selector: EffectiveSelector, change: SelectorChange): Fault {
  const { object, settings: { runtime } } = change;
  const others = otherSelectorsOf(hits, selector);
  const names = others.map((other) => other.name);
  const list = listOf(names);
  const { name } = selector;
  const effect = "would be selected by more than one IAMRoleSelector, "
    + "and controllers do not reconcile such a resource";
  const message = listConflicts(hits, effect, selector);
  const instance = stringAt(object, "metadata", "labels", KRO_INSTANCE_LABEL);
  if (instance !== null) {
    const edit = set(["spec", "resourceLabelSelector", "matchLabels", { key: KRO_INSTANCE_LABEL }], instance);
    return { path: ["spec"], message, fix: instanceFix(name, list), repairs: by(edit) };
  }
  const repairs = conflictRepairs(hits, others, change);
  const replaced = names.length > MAX_NAMES
    ? `${names.slice(0, MAX_NAMES).join(",")},... (list all ${names.length} selectors)`
    : names.join(",");
  return {
    path: ["spec"],
    message,
    repairs,
    fix: `restrict ${name} or ${list} so that only one of them selects each resource. If ${name} is to replace `
      + `${list}: annotate ${name} with ${REPLACES_ANNOTATION}: ${replaced}, apply ${name}, then delete ${list}`
      + (runtime === "ack" ? "" : `. To keep the role of a resource, first name its selector in ${CHOICE}`),
  };
}

/** The label that kro sets on each object that it creates for an instance (kro pkg/metadata/labels.go). */
const KRO_INSTANCE_LABEL = "kro.run/instance-name";

/**
 * Returns the fix for a selector that kro creates for each instance. Such a selector must select only the resources of
 * its instance: https://github.com/aws-samples/appmod-blueprints/issues/813
 */
function instanceFix(name: string, others: string): string {
  const ownLabels = `{${KRO_INSTANCE_LABEL}: "\${schema.metadata.name}"}`;
  return `restrict ${name} and ${others} to the resources of their kro instances. To do so, add `
    + `resourceLabelSelector: {matchLabels: ${ownLabels}} to the spec of the IAMRoleSelector in the `
    + "ResourceGraphDefinition. Or remove the IAMRoleSelector from the definition, and create one IAMRoleSelector for "
    + "the namespace";
}

/**
 * Returns a warning for an overlap that the annotation `replaces` announces. Controllers do not reconcile the shared
 * resources until the replaced selector is deleted.
 */
function replacementFault(hits: Hits, selector: EffectiveSelector): Fault {
  const others = otherSelectorsOf(hits, selector);
  const account = String(accountOfARN(selector.roleARN));
  const isRepair = hits.found === hits.first.length
    && hits.first.every(({ resource }) => resource.status.ownerAccountID === account);
  const elsewhere = isRepair ? []
    : others.filter(({ roleARN }) => accountOfARN(roleARN) !== account).map(({ name }) => name);
  const named = others.map(({ name }) => name).filter((name) => selector.replaces.has(name));
  const replaced = named.length === 0 ? selector.name : listOf(named);
  return {
    path: ["metadata", "annotations", { key: REPLACES_ANNOTATION }],
    message: listConflicts(hits, `would be in conflict, and not be reconciled, until ${replaced} is deleted`, selector),
    fix:
      elsewhere.length === 0
        ? `apply this change, then delete ${replaced}: the deletion is allowed once every resource resolves to `
          + "the replacement in the same account"
        : `use a role for ${selector.name} in the same account as ${listOf(elsewhere)}, because existing resources `
          + `cannot move to account ${account}`,
    severity: "warn",
  };
}

/** Returns the other selectors that select the resources, sorted by name. */
function otherSelectorsOf({ first }: Hits, { name }: EffectiveSelector): EffectiveSelector[] {
  const selecting = first.flatMap(({ after }) => after.selectors).filter((selector) => selector.name !== name);
  const byName = new Map(selecting.map((selector) => [selector.name, selector]));
  return [...byName.values()].toSorted((a, b) => compareText(a.name, b.name));
}

/** Returns `2 resources EFFECT: Bucket team-a/b1 in account 111122223333 (also selected by gold), ...`. */
function listConflicts(hits: Hits, effect: string, { name }: EffectiveSelector): string {
  const itemOf = (transition: Transition): string => {
    const others = transition.after.selectors.map((one) => one.name).filter((one) => one !== name).toSorted();
    // Shows only the account in the status: the role before the change is the role of another selector, whose account
    // may not be the account of the resource.
    const resource = resourceInAccount(transition.resource, transition.resource.status.ownerAccountID);
    return `${resource} (also selected by ${listOf(others)})`;
  };
  return listHits(hits, effect, itemOf);
}

/**
 * The number of selector pairs that are compared between two pauses. Comparing a pair with few type entries takes less
 * than 10 us.
 */
const PAIRS_BETWEEN_PAUSES = 50;

export const IRS_18: ScanningCheck<SelectorChange> = {
  id: "IRS-18",
  severity: "warn",
  reason:
    "If two selectors can overlap, a later resource can match both. The author of the resource may not know about "
    + "the selectors.",
  fix: "separate the selectors by namespace, type or label",
  example: "# while another selector selects every Bucket\n"
    + "spec: {arn: 'arn:aws:iam::111122223333:role/b', resourceLabelSelector: {matchLabels: {tier: gold}}}",
  ofChange: true,
  *scan({ after, effects, inventory, origin }) {
    if (after === null) return [];
    // Completes the scan, so that `effects` contains every selector that conflicts now. IRS-17 reports these selectors,
    // so IRS-18 excludes them.
    for (const effect of ["joins conflict", "joins replaced", "stays in conflict"] as const) {
      yield* effects.of(effect, Infinity);
    }
    const names = yield* overlappingSelectors(inventory, after, effects.conflictingSelectors, "any");
    if (names.length === 0) return [];
    const count = countOf(names.length, "other selector", SCAN_LIMIT);
    const list = listOf(names, names.length, SCAN_LIMIT);
    const now = noConflictClause(inventory, origin);
    return [{ path: ["spec"], message: `the selector could share a resource with ${count} (${list}), but ${now}` }];
  },
};

/**
 * With `--runtime extended`, a resource that several selectors select is not in conflict if its annotation names one of
 * them.
 */
function noConflictClause({ runtime }: Inventory, origin: Origin): string {
  if (runtime === "extended") return origin === "cluster" ? "no resource is in conflict now" : "none is in conflict";
  return origin === "cluster" ? "no such resource exists now" : "the input contains no such resource";
}

/**
 * Returns the sorted names of at most `SCAN_LIMIT` selectors that can select the same resources as the given selector.
 */
export function* overlappingSelectors(
  inventory: Inventory, selector: EffectiveSelector, excluded: ReadonlySet<string>, namespaces: "any" | "existing",
): Paced<string[]> {
  const names: string[] = [];
  const candidates = yield* inventory.of(SELECTORS).overlapCandidates(selector);
  yield* paced(candidates, PAIRS_BETWEEN_PAUSES, (other) => {
    if (other.name === selector.name || excluded.has(other.name) || isReplacing(selector, other)) return true;
    // Compares the namespaces first, because this comparison excludes most pairs and takes a tenth of the time of
    // `canOverlap`.
    if (shareNamespace(inventory, selector, other, namespaces) && canOverlap(selector, other)) names.push(other.name);
    return names.length < SCAN_LIMIT;
  });
  return names.toSorted();
}

/**
 * Whether the selectors can select resources of the same namespace. If a selector lists namespaces by name, compares
 * only the current labels of these namespaces, because NS-01 checks later label changes. With `any`, assumes that a
 * namespace that does not exist yet can have any labels.
 */
function shareNamespace(
  inventory: Inventory, a: EffectiveSelector, b: EffectiveSelector, namespaces: "any" | "existing",
): boolean {
  const named = a.namespaces ?? b.namespaces;
  if (named === null) return true;
  for (const name of named) {
    if (!inventory.namespaces.has(name)) {
      if (namespaces === "any" && b.namespaces?.has(name) !== false) return true;
      continue;
    }
    const labels = inventory.namespaces.labelsOf(name);
    if (selectsNamespace(a, name, labels) && selectsNamespace(b, name, labels)) return true;
  }
  return false;
}
