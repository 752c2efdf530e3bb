import { mapInput } from "../../../../cli/role-map/map-input.ts";
import { auditObjects } from "../../../../shared/diagnosis/audit.ts";
import type { DecisionSettings, Runtime } from "../../../../shared/core/context.ts";
import type { Unjudged } from "../../../../shared/files/unjudged.ts";
import type { JsonObject } from "../../../../shared/formats/json.ts";
import { drain } from "../../../../shared/formats/paced.ts";
import { compareInventories } from "../../../../shared/diagnosis/impact.ts";
import { roleMapOf } from "../../../../shared/diagnosis/role-map/build-map.ts";
import type { RoleMap } from "../../../../shared/diagnosis/role-map/role-map.ts";
import { inventoryWith, SETTINGS_BY_DEFAULT } from "../../objects.ts";

interface Mapping {
  readonly root?: string;
  readonly runtime?: Runtime;
  readonly settings?: Partial<DecisionSettings>;
  readonly unjudged?: readonly Unjudged[];
  /** Default: true. False saves time if the checks would compare thousands of objects. */
  readonly isAudited?: boolean;
  /** The objects before a change. */
  readonly before?: readonly JsonObject[];
}

/** Returns the map of objects in manifests, as `map` builds it. The file of each object is `a.yaml`. */
export function mapped(objects: readonly JsonObject[], mapping: Mapping = {}): RoleMap {
  const { runtime = "ack", unjudged = [], before, isAudited = true } = mapping;
  const settings = { ...SETTINGS_BY_DEFAULT, runtime, ...mapping.settings };
  const inventory = inventoryWith(objects, { runtime, origin: "file" });
  const audit = drain(auditObjects({ objects: isAudited ? objects : [], inventory, origin: "file" }, settings));
  const impacts = before === undefined
    ? null
    : drain(compareInventories(inventoryWith(before, { runtime, origin: "file" }), inventory, settings)).impacts;
  const found = objects.map((object) => ({ object, file: "a.yaml", lineOf: () => 7 }));
  const source = { root: mapping.root ?? null, inventory, objects: found, audit, unjudged, impacts };
  return drain(roleMapOf(mapInput(source, settings)));
}

/** Returns each use as `NAMESPACE KIND STATE ROLE: COUNT (NAMES)`. */
export function useTexts({ uses, namespaces, kinds, reasons, roles }: RoleMap): string[] {
  return uses.map(([namespace, kind, reason, count, names]) => {
    const { state = "", role = null } = reasons[reason] ?? {};
    const arn = role === null ? "no role" : roles[role]?.arn ?? "";
    return `${namespaces[namespace]?.name} ${kinds[kind] ?? kind} ${state} ${arn}: ${count} (${names.join(", ")})`;
  });
}
