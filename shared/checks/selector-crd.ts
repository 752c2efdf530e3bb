import type { FieldPath, JsonObject } from "../formats/json.ts";
import { type KnownFields, missingFields, unknownFields } from "../contract/shape.ts";
import { ACK_FIELDS } from "../model/ack-selector-schema.ts";
import type { Fault, QuickCheck } from "./check.ts";
import type { SelectorChange } from "./selector-change.ts";
import { IRS_00 } from "./selector-shape.ts";

const OWN_CRD = "install the CRD that `ack-role-resolver manifests crds` prints";

/**
 * IRS-00 for the CRD in the input, or else for the CRD in ACK's charts. These CRDs require some fields even if they are
 * empty, and do not define all documented fields. The check denies only with `lint --no-webhook`.
 */
export const IRS_00_OF_CRD: QuickCheck<SelectorChange> = {
  ...IRS_00,
  *find({ object, origin, inventory, settings }): Iterable<Fault> {
    // The API server has already validated the selectors in a cluster.
    if (origin === "cluster") return;
    const fields = inventory.kinds.selectorFields ?? ACK_FIELDS;
    const severity = settings.isWebhookInstalled ? { severity: "warn" } as const : {};
    for (const [parent, names] of missingByParent(fields, object)) {
      const rejected = "without the webhook, the API server rejects the selector";
      const message = `the CRD requires ${names.join(" and ")}; ${rejected}`;
      yield { path: parent, message, fix: `add ${names.map(emptyField).join(" and ")}`, ...severity };
    }
    for (const { path } of unknownFields(fields, object)) {
      const fix = FIXES.get(path.at(-1));
      if (fix === undefined) continue; // The schema reports fields that no CRD defines.
      const rejected = "kubectl rejects the selector, or the API server prunes the field";
      const message = `the CRD does not define this field: ${rejected}`;
      yield { path, message, fix: `${fix}, or ${OWN_CRD}`, ...severity };
    }
  },
};

const FIXES: ReadonlyMap<unknown, string> = new Map([
  ["apiVersion", "write group and version instead of apiVersion"], ["matchExpressions", "use matchLabels"],
]);

/**
 * Returns the names of the missing fields, grouped by the path of the object that lacks them. Omits a missing role,
 * which IRS-01 reports.
 */
function missingByParent(fields: KnownFields, object: JsonObject): Iterable<readonly [FieldPath, readonly string[]]> {
  const byParent = new Map<string, readonly [FieldPath, readonly string[]]>();
  for (const path of missingFields(fields, object)) {
    const [parent, name] = [path.slice(0, -1), path.at(-1)];
    if (typeof name !== "string" || name === "arn") continue;
    const [, names] = byParent.get(JSON.stringify(parent)) ?? [parent, []];
    byParent.set(JSON.stringify(parent), [parent, [...names, name]]);
  }
  return byParent.values();
}

function emptyField(name: string): string {
  const values: Readonly<Record<string, string>> = { names: "[]", matchLabels: "{}" };
  return `${name}: ${values[name] ?? '""'}`;
}
