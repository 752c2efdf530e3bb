import { SELECTOR } from "../ack/kinds.ts";
import { exceedsSelectorLimit } from "../ack/selector-judge.ts";
import { ACCOUNT_MAP, TEAM_MAP } from "../core/annotation-keys.ts";
import { bindChecks } from "../core/bind.ts";
import { ofChange, within } from "../core/binding.ts";
import { type Check, type CheckContext, type Fault, hasOldObject, type QuickCheck } from "../core/check.ts";
import type { DecisionSettings } from "../core/context.ts";
import type { Inventory } from "../core/inventory.ts";
import { type Extra, type Judge, type ReviewedID, typeOf } from "../core/judge.ts";
import { namespaceChange, type NamespaceChange } from "../core/namespace-change.ts";
import { NAMESPACE } from "../core/namespace-kind.ts";
import { limitCheck } from "../core/size-limits.ts";
import { field, type JsonObject, stringMap } from "../formats/json.ts";
import { namespaceOrDefault, objectReference } from "../formats/object-meta.ts";
import { countOf, sortedListOf } from "../formats/text.ts";
import { NS_04_OF_OTHERS } from "./accounts-of-status.ts";
import { CM_01, CM_04, CM_12, CM_16, configMapChange, type ConfigMapChange, dataPath } from "./carm-map-entries.ts";
import { CM_07, CM_08, CM_09, CM_15 } from "./carm-map-keys.ts";
import { CARM_MAP } from "./kinds.ts";
import { CARM_MAPS } from "./map-store.ts";
import {
  ACK_36_OF_NAMESPACES, CM_09_OF_NAMESPACES, NS_03, NS_03_SYNTAX, NS_05, NS_10, NS_16,
} from "./namespace-carm.ts";
import { NS_04 } from "./namespace-owner.ts";
import { NAMESPACE_OWNERS } from "./namespace-owners.ts";
import { mapTarget } from "./role-targets.ts";

/** The checks that run when a CARM ConfigMap changes. */
const CONFIG_MAP_CHECKS: readonly Check<ConfigMapChange>[] = [
  CM_01, CM_04, CM_07, CM_08, CM_09, CM_12, CM_15, CM_16,
];
const LIMIT = limitCheck(CARM_MAP.limit);

export const CARM_MAP_JUDGE: Judge = {
  kind: CARM_MAP, checks: [...CONFIG_MAP_CHECKS, LIMIT],
  bind: within(LIMIT, ofChange(CONFIG_MAP_CHECKS, configMapChange)),
  namesRoles({ object }, { ackSystemNamespace }) {
    const { name, namespace } = objectReference(object);
    if (namespaceOrDefault(namespace) !== ackSystemNamespace) return [];
    return Array.from(stringMap(field(object, "data")), ([key, roleARN]) => (
      { path: dataPath(key), target: mapTarget(name, key, roleARN) }
    ));
  },
  stored: storedMap,
};

function storedMap(id: ReviewedID, inventory: Inventory): JsonObject | null {
  const { namespace, name } = id;
  const data = inventory.of(CARM_MAPS).data(namespace, name);
  return data === null ? null : { ...typeOf(id), metadata: { namespace, name }, data: Object.fromEntries(data) };
}

const OF_NAMESPACES: readonly Check<NamespaceChange>[] = [
  NS_03, NS_03_SYNTAX, NS_04, NS_04_OF_OTHERS, NS_05, NS_10, NS_16, CM_09_OF_NAMESPACES, ACK_36_OF_NAMESPACES,
];

/** The checks of the annotations of a Namespace that CARM reads. */
export const CARM_OF_NAMESPACES: Extra = {
  of: NAMESPACE, checks: OF_NAMESPACES, bind: ofChange(OF_NAMESPACES, namespaceChange),
};

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
