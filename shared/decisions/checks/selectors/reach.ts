import { ACCOUNT_MAP, TEAM_MAP } from "../../annotation-keys.ts";
import type { DecisionSettings } from "../../context.ts";
import type { Inventory } from "../../inventory/inventory.ts";
import { isACKGroup } from "../../kubernetes/kinds.ts";
import { namespaceNameFaults } from "../../kubernetes/names.ts";
import { closest, countOf, quote, someNames } from "../../kubernetes/text.ts";
import { type Paced, paced } from "../../paced.ts";
import { namespacesOf, transitionsOfSelector } from "../../resolution/change-set.ts";
import { type EffectiveSelector, selectsNamespace } from "../../selectors/effective.ts";
import type { TypeEntry } from "../../selectors/type-entry.ts";
import type { Fault, QuickCheck, ScanningCheck } from "../check.ts";
import type { SelectorChange } from "./change.ts";
import { typeEntries } from "./types.ts";

export const IRS_10: QuickCheck<SelectorChange> = {
  id: "IRS-10",
  severity: "warn",
  waivable: false,
  reason: "A misspelt namespace selects nothing, and resources of the one that was meant fall to the controllers' own account.",
  fix: "correct the name, or create the namespace",
  example: "spec: {namespaceSelector: {names: [team-that-is-not-there]}}",
  requires: ["namespaces"],
  *find({ spec, inventory }): Iterable<Fault> {
    for (const [i, name] of (spec.namespaceSelector?.names ?? []).entries()) {
      if (inventory.hasNamespace(name) || namespaceNameFaults(name).length > 0) continue;
      yield { path: ["spec", "namespaceSelector", "names", i], message: `there is no namespace ${quote(name)}` };
    }
  },
};

export const IRS_22: ScanningCheck<SelectorChange> = {
  id: "IRS-22",
  severity: "warn",
  waivable: false,
  reason: "A selector that selects nothing is often misspelt, and what it was meant for falls to the controllers' own account.",
  fix: "compare its names and labels with kubectl get namespaces --show-labels; nothing is wrong if they come later",
  example: "spec: {namespaceSelector: {labelSelector: {matchLabels: {team: nobody}}}}",
  requires: ["namespaces"],
  *scan({ inventory, after }) {
    if (after === null || (yield* selectsAnything(inventory, after))) return [];
    return [{ path: ["spec"], message: "the selector selects no namespace and no resource that there is" }];
  },
};

/** How many namespaces a scan visits between two pauses: about a millisecond of work. */
const NAMESPACES_BETWEEN_PAUSES = 1000;

/** Returns whether the selector selects any namespace or any resource of the inventory. */
function* selectsAnything(inventory: Inventory, selector: EffectiveSelector): Paced<boolean> {
  const names = namespacesOf(inventory, selector) ?? inventory.namespaceNames;
  const noNamespace = yield* paced(names, NAMESPACES_BETWEEN_PAUSES, (name) => (
    !inventory.hasNamespace(name) || !selectsNamespace(selector, name, inventory.namespaceLabels(name))
  ));
  if (!noNamespace) return true;
  const step = { name: selector.name, before: null, after: selector };
  return !(yield* transitionsOfSelector(inventory, step, () => false));
}

/** Each entry may be compared with every installed kind. */
const ENTRIES_BETWEEN_PAUSES = 1;

export const IRS_13: ScanningCheck<SelectorChange> = {
  id: "IRS-13",
  severity: "warn",
  waivable: false,
  reason: "An entry that no installed kind fits selects nothing, and what it was meant for falls to the controllers' own account.",
  fix: "write group, version and kind as kubectl get crd has them, or install the controller that brings the kind",
  example: "spec: {resourceTypeSelector: [{group: s3.services.k8s.aws, kind: Buckets}]}",
  requires: ["kinds"],
  *scan({ spec, origin, settings: { runtime }, inventory }) {
    const installed = [...inventory.installedTypes()];
    const faults: Fault[] = [];
    yield* paced(typeEntries({ spec, origin, runtime }), ENTRIES_BETWEEN_PAUSES, ([path, entry]) => {
      const fault = entry.group === "" || isACKGroup(entry.group) ? mismatch(entry, installed) : null;
      if (fault !== null) faults.push({ path: [...path, fault.part], message: fault.message });
      return true;
    });
    return faults;
  },
};

interface Mismatch {
  readonly part: keyof TypeEntry;
  readonly message: string;
}

/** The first part that leaves no installed kind, the group before the kind before the version; null when one is left. */
function mismatch({ group, version, kind }: TypeEntry, installed: readonly TypeEntry[]): Mismatch | null {
  const ofGroup = installed.filter((type) => group === "" || type.group === group);
  if (ofGroup.length === 0) return { part: "group", message: `no kind of the group ${quote(group)} is installed${guess(group, installed.map((type) => type.group))}` };
  const ofKind = ofGroup.filter((type) => kind === "" || type.kind === kind);
  if (ofKind.length === 0) return { part: "kind", message: `no kind ${quote(kind)} is installed${guess(kind, ofGroup.map((type) => type.kind))}` };
  if (version === "" || ofKind.some((type) => type.version === version)) return null;
  const stored = new Set(ofKind.map((type) => type.version));
  return { part: "version", message: `${quote(version)} is not the version that controllers compare with, which is the stored one: ${someNames(stored)}` };
}

function guess(text: string, known: readonly string[]): string {
  const meant = closest(text, new Set(known));
  return meant === null ? "" : `; perhaps ${meant} was meant`;
}

const PATH = ["spec"] as const;

/** A controller takes one of them: it exits at start where both are on (aws-controllers-k8s/runtime pkg/config/config.go). */
export const IRS_26: QuickCheck<SelectorChange> = {
  id: "IRS-26",
  severity: "warn",
  waivable: false,
  reason: "A controller resolves roles by CARM or by selectors, never by both: where CARM is on, a selector has no effect.",
  fix: "run every controller with the feature gate IAMRoleSelector and --enable-carm=false, then remove the maps and the annotations",
  example: "# with --mode carm, or while ConfigMap ack-system/ack-role-account-map has entries\nspec: {arn: 'arn:aws:iam::111122223333:role/team-a', namespaceSelector: {names: [team-a]}}",
  *find({ inventory, settings }): Iterable<Fault> {
    if (settings.mode === "carm") {
      yield { path: PATH, message: "the controllers resolve roles by CARM (--mode carm), so the selector will have no effect", fix: CARM_FIX };
      return;
    }
    const uses = usesOfCARM(inventory, settings);
    if (uses.length > 0) yield { path: PATH, message: `CARM is still in use (${uses.join("; ")}), and controllers that run with it ignore selectors` };
  },
};

const CARM_FIX = "give the namespace its role by the CARM maps, or switch the controllers and --mode to selectors";

function usesOfCARM(inventory: Inventory, { ackSystemNamespace }: DecisionSettings): string[] {
  const maps = [ACCOUNT_MAP, TEAM_MAP].flatMap((name) => {
    const keys = inventory.configMap(ackSystemNamespace, name)?.size ?? 0;
    return keys === 0 ? [] : [`ConfigMap ${ackSystemNamespace}/${name} has ${countOf(keys, "key")}`];
  });
  const { size } = inventory.namespacesOfCARM;
  return size === 0 ? maps : [...maps, `${countOf(size, "namespace")} annotated: ${someNames(inventory.namespacesOfCARM)}`];
}
