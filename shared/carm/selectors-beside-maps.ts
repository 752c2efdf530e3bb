import { SELECTOR } from "../ack/kinds.ts";
import { exceedsSelectorLimit } from "../ack/selector-judge.ts";
import { ACCOUNT_MAP, TEAM_MAP } from "../core/annotation-keys.ts";
import { bindChecks } from "../core/bind.ts";
import { type CheckContext, type Fault, hasOldObject, type QuickCheck } from "../core/check.ts";
import type { DecisionSettings } from "../core/context.ts";
import type { Inventory } from "../core/inventory.ts";
import type { Extra } from "../core/judge.ts";
import { remove, type Repair } from "../core/repair.ts";
import { annotationPath } from "../formats/json.ts";
import { countOf, sortedListOf } from "../formats/text.ts";
import { choosingAnnotations } from "./carm-maps.ts";
import { CARM_MAPS } from "./map-store.ts";
import { NAMESPACE_OWNERS } from "./namespace-owners.ts";

const PATH = ["spec"] as const;

/**
 * A controller exits at startup if both CARM and selectors are enabled (aws-controllers-k8s/runtime
 * pkg/config/config.go).
 */
const IRS_26: QuickCheck<Pick<CheckContext, "inventory" | "settings">> = {
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
      fix: IRS_26.fix, repairs: removingCARM(inventory, settings),
    };
  },
};

const CARM_FIX = "assign the role in the CARM maps, or switch the controllers and --mode to selectors";

function usesOfCARM(inventory: Inventory, { ackSystemNamespace }: DecisionSettings): string[] {
  const maps = [ACCOUNT_MAP, TEAM_MAP].flatMap((name) => {
    const keys = usesOfMap(inventory, ackSystemNamespace, name);
    return keys === 0 ? [] : [`ConfigMap ${ackSystemNamespace}/${name} has ${countOf(keys, "key")}`];
  });
  const owners = inventory.of(NAMESPACE_OWNERS);
  if (owners.size === 0) return maps;
  return [...maps, `${countOf(owners.size, "annotated namespace")}: ${sortedListOf(owners.names)}`];
}

function usesOfMap(inventory: Inventory, namespace: string, name: string): number {
  return inventory.of(CARM_MAPS).data(namespace, name)?.size ?? 0;
}

/** The number of objects of which a reader compares the changes. */
const MAX_OBJECTS = 5;

/** Returns the removal of the maps and of the annotations that only CARM reads. */
function removingCARM(inventory: Inventory, { ackSystemNamespace, runtime }: DecisionSettings): readonly Repair[] {
  const maps = [ACCOUNT_MAP, TEAM_MAP].filter((name) => usesOfMap(inventory, ackSystemNamespace, name) > 0)
    .map((name) => ({ apiVersion: "v1", kind: "ConfigMap", namespace: ackSystemNamespace, name }));
  const names = [...inventory.of(NAMESPACE_OWNERS).names].toSorted();
  if (maps.length + names.length > MAX_OBJECTS) return [];
  const annotations = names.flatMap((name) => {
    const of = { apiVersion: "v1", kind: "Namespace", namespace: null, name };
    const present = inventory.namespaces.annotationsOf(name);
    return choosingAnnotations({ runtime, teamLevelCARM: true }).filter((key) => present.has(key))
      .map((key) => ({ of, ...remove(annotationPath(key)) }));
  });
  const edits = [...annotations, ...maps.map((of) => ({ of, ...remove([]) }))];
  return [{ when: "if no controller runs with CARM", edits }];
}

const OF_SELECTORS = [IRS_26];

/** The check of selectors in a cluster that uses CARM. */
export const CARM_OF_SELECTORS: Extra = {
  of: SELECTOR, checks: OF_SELECTORS,
  bind(input, settings) {
    const { inventory = null } = input;
    if (inventory === null || exceedsSelectorLimit(input, settings)) return [];
    const subject = { inventory, settings };
    return [bindChecks(OF_SELECTORS, subject, hasOldObject(input) ? subject : null)];
  },
};
