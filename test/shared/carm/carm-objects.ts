import type { DecisionSettings } from "../../../shared/core/context.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { planMigration, type ProvedMigration, proveMigration } from "../../../shared/carm/migration-plan.ts";
import { drain } from "../../../shared/formats/paced.ts";
import { bucketObject, inventoryWith, namespaceObject, SETTINGS_BY_DEFAULT } from "../objects.ts";

export const A = "arn:aws:iam::111122223333:role/a";
export const B = "arn:aws:iam::444455556666:role/b";
export const C = "arn:aws:iam::777788889999:role/c";

/** Returns a CARM map, by default in the namespace of the controllers. */
export function mapObject(
  name: "account" | "team",
  data: Readonly<Record<string, string>>,
  namespace = "ack-system",
): JsonObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name: `ack-role-${name}-map`, namespace }, data };
}

/** Returns a namespace that is annotated with an owner account, a team or both. */
export function ownedNamespace(name: string, owner: string | null, team: string | null = null): JsonObject {
  return namespaceObject(
    name,
    {},
    {
      ...(owner === null ? {} : { "services.k8s.aws/owner-account-id": owner }),
      ...(team === null ? {} : { "services.k8s.aws/team-id": team }),
    },
  );
}

/** Returns a bucket that exists in an account. */
export function bucketIn(namespace: string, ownerAccountID: string, name = "b1"): JsonObject {
  return bucketObject({ namespace, name }, { status: { ackResourceMetadata: { ownerAccountID } } });
}

/** Plans and proves a migration, as the command `migrate carm` does. */
export function migrated(
  objects: readonly JsonObject[],
  settings: Partial<DecisionSettings> = {},
  extraGroups: readonly string[] = [],
): ProvedMigration {
  const inventory = inventoryWith(objects, { runtime: settings.runtime ?? "ack", origin: "file" });
  const plan = planMigration(inventory, { ...SETTINGS_BY_DEFAULT, ...settings }, extraGroups);
  inventory.apply(plan.changes);
  return drain(proveMigration(plan));
}
