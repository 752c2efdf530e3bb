import { ofChange, within } from "../core/binding.ts";
import type { Check } from "../core/check.ts";
import type { Inventory } from "../core/inventory.ts";
import { type Extra, type Judge, type ReviewedID, typeOf } from "../core/judge.ts";
import { namespaceChange, type NamespaceChange } from "../core/namespace-change.ts";
import { NAMESPACE } from "../core/namespace-kind.ts";
import { limitCheck } from "../core/size-limits.ts";
import { field, type JsonObject, stringMap } from "../formats/json.ts";
import { namespaceOrDefault, objectReference } from "../formats/object-meta.ts";
import { NS_04_OF_OTHERS } from "./accounts-of-status.ts";
import { CM_01, CM_04, CM_12, CM_16, configMapChange, type ConfigMapChange, dataPath } from "./map-entry-checks.ts";
import { CM_07, CM_08, CM_09, CM_15 } from "./map-key-checks.ts";
import { CARM_MAP } from "./kinds.ts";
import { CARM_MAPS } from "./map-store.ts";
import {
  ACK_36_OF_NAMESPACES, CM_09_OF_NAMESPACES, NS_03, NS_03_SYNTAX, NS_05, NS_10, NS_16,
} from "./namespace-carm.ts";
import { NS_04 } from "./namespace-owner.ts";
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
