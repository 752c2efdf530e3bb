import { NAMESPACE_OWNERS } from "../carm/namespace-owners.ts";
import { CARM_MAPS } from "../carm/map-store.ts";
import { ACCOUNT_MAP, TEAM_MAP } from "../core/annotation-keys.ts";
import type { DecisionSettings } from "../core/context.ts";
import type { Inventory } from "../core/inventory.ts";
import type { FieldPath, JsonObject } from "../formats/json.ts";
import { namespaceNameFaults } from "../formats/names.ts";
import { objectReference } from "../formats/object-meta.ts";
import { countOf, printable, quote, sortedListOf } from "../formats/text.ts";
import { type Paced, paced } from "../formats/paced.ts";
import { candidateNamespaces, transitionsOfSelector } from "./change-set.ts";
import type { SelectorSpec } from "../core/iamroleselector.ts";
import { type EffectiveSelector, selectsNamespace } from "../core/effective-selector.ts";
import { type CheckContext, type Fault, isComplete, type QuickCheck, type ScanningCheck } from "../core/check.ts";
import { misspelledNamespace } from "../core/fault-texts.ts";
import type { SelectorChange } from "./selector-change.ts";

export const IRS_10: QuickCheck<SelectorChange> = {
  id: "IRS-10",
  severity: "warn",
  reason: "A selector selects nothing in a namespace that does not exist, for example a misspelled one. "
    + "Resources of the intended namespace fall back to the controller's own account. In manifests, the check also "
    + "finds misspelled namespaces of resources, and labels that are similar to those of a namespace.",
  fix: "correct the name, or create the namespace",
  example: "spec: {namespaceSelector: {names: [team-that-does-not-exist]}}",
  requires: ["namespaces", "--complete or --cluster"],
  when: ({ spec }) => (spec.namespaceSelector?.names ?? NONE).length > 0,
  *find({ spec, inventory }): Iterable<Fault> {
    for (const [path, name] of unknownNamespaces(spec, inventory)) {
      yield { path, message: `namespace ${quote(name)} does not exist` };
    }
  },
};

const NONE: readonly never[] = [];

/**
 * IRS-10 for manifests that may lack namespaces: reports only names and labels that are similar to those of a namespace
 * of the input.
 */
export const IRS_10_OF_SOME: QuickCheck<SelectorChange> = {
  ...IRS_10,
  requires: [],
  when: (context) => !isComplete(context),
  *find({ spec, inventory }): Iterable<Fault> {
    for (const [path, name] of unknownNamespaces(spec, inventory)) {
      const message = misspelledNamespace(inventory, name);
      if (message !== null) yield { path, message };
    }
    for (const [key, value] of spec.namespaceSelector?.labelSelector?.matchLabels ?? []) {
      const [meant] = inventory.namespaces.misspelledLabel(key, value);
      if (meant === undefined) continue;
      const message = `no namespace of the input has the label ${printable(key)}: ${quote(value)}; perhaps `
        + `${printable(meant)} was meant`;
      yield { path: [...LABELS, { key }], message, fix: "correct the label, or label the namespace" };
    }
  },
};

const LABELS = ["spec", "namespaceSelector", "labelSelector", "matchLabels"] as const;

/** A change of an object that belongs to a namespace. */
interface ObjectChange extends CheckContext {
  readonly object: JsonObject;
}

/** IRS-10 for the manifest of an ACK resource or of an object that refers to an identity. */
export const IRS_10_OF_OBJECTS: QuickCheck<ObjectChange> = {
  ...IRS_10,
  requires: [],
  // The API server stores an object only in a namespace that exists.
  when: ({ origin }) => origin !== "cluster",
  *find({ object, inventory }): Iterable<Fault> {
    const message = misspelledNamespace(inventory, objectReference(object).namespace);
    if (message !== null) yield { path: ["metadata", "namespace"], message };
  },
};

function* unknownNamespaces(spec: SelectorSpec, { namespaces }: Inventory): Iterable<readonly [FieldPath, string]> {
  for (const [i, name] of (spec.namespaceSelector?.names ?? []).entries()) {
    const isKnown = namespaces.has(name) || namespaceNameFaults(name).length > 0;
    if (!isKnown) yield [["spec", "namespaceSelector", "names", i], name];
  }
}

export const IRS_22: ScanningCheck<SelectorChange> = {
  id: "IRS-22",
  severity: "warn",
  reason: "A selector that selects nothing often contains a typo. "
    + "The intended resources fall back to the controller's own account.",
  fix: "compare it with kubectl get namespaces --show-labels; ignore the warning if a namespace is created later",
  example: "spec: {namespaceSelector: {labelSelector: {matchLabels: {team: no-such-team}}}}",
  requires: ["namespaces", "--complete or --cluster"],
  section: "selectingNothing",
  inAudit: { requires: ["resources"] },
  *scan({ inventory, after, operation, settings }) {
    // In mode carm, selectors have no effect. IRS-26 reports this.
    if (after === null || settings.mode === "carm") return [];
    // A new selector is often written before the resources, but a stored one has its resources.
    const isStored = operation === "AUDIT";
    if (!isStored && (yield* selectsNamespaces(inventory, after))) return [];
    const step = { name: after.name, before: null, after };
    if (!(yield* transitionsOfSelector(inventory, step, () => false))) return [];
    const what = isStored ? "resource" : "namespace and no existing resource";
    return [{ path: ["spec"], message: `the selector selects no existing ${what}` }];
  },
};

/**
 * The number of namespaces that a scan visits between two pauses. Visiting this number of namespaces takes about 1 ms.
 */
const NAMESPACES_BETWEEN_PAUSES = 1000;

/** Whether the selector selects any existing namespace. */
function* selectsNamespaces(inventory: Inventory, selector: EffectiveSelector): Paced<boolean> {
  const names = candidateNamespaces(inventory, selector) ?? inventory.namespaces.names;
  return !(yield* paced(names, NAMESPACES_BETWEEN_PAUSES, (name) => (
    !inventory.namespaces.has(name) || !selectsNamespace(selector, name, inventory.namespaces.labelsOf(name))
  )));
}

const PATH = ["spec"] as const;

/**
 * A controller exits at startup if both CARM and selectors are enabled (aws-controllers-k8s/runtime
 * pkg/config/config.go).
 */
export const IRS_26: QuickCheck<SelectorChange> = {
  id: "IRS-26",
  severity: "warn",
  reason: "A controller resolves roles with CARM or with selectors, never with both. "
    + "While CARM is enabled, selectors have no effect.",
  fix: "run controllers with gate IAMRoleSelector and --enable-carm=false, then remove CARM maps and annotations",
  example: "# with --mode carm, or while ConfigMap ack-system/ack-role-account-map has entries\n"
    + "spec: {arn: 'arn:aws:iam::111122223333:role/team-a', namespaceSelector: {names: [team-a]}}",
  *find({ inventory, settings }): Iterable<Fault> {
    if (settings.mode === "carm") {
      const message = "the controllers resolve roles with CARM (--mode carm), so the selector has no effect";
      yield { path: PATH, message, fix: CARM_FIX };
      return;
    }
    const uses = usesOfCARM(inventory, settings);
    if (uses.length === 0) return;
    yield {
      path: PATH,
      message: `CARM is still in use (${uses.join("; ")}), and controllers that run with CARM ignore selectors`,
    };
  },
};

const CARM_FIX = "assign the role in the CARM maps, or switch the controllers and --mode to selectors";

function usesOfCARM(inventory: Inventory, { ackSystemNamespace }: DecisionSettings): string[] {
  const maps = [ACCOUNT_MAP, TEAM_MAP].flatMap((name) => {
    const keys = inventory.of(CARM_MAPS).data(ackSystemNamespace, name)?.size ?? 0;
    return keys === 0 ? [] : [`ConfigMap ${ackSystemNamespace}/${name} has ${countOf(keys, "key")}`];
  });
  const owners = inventory.of(NAMESPACE_OWNERS);
  if (owners.size === 0) return maps;
  return [...maps, `${countOf(owners.size, "annotated namespace")}: ${sortedListOf(owners.names)}`];
}
