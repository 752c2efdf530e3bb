import type { Grant, RoleGrant } from "../../../../shared/resolution/grant.ts";
import { Inventory } from "../../../../shared/inventory/inventory.ts";
import type { JsonObject } from "../../../../shared/formats/json.ts";
import { namespaceObject, put, selectorObject } from "../objects.ts";

export const S3 = "s3.services.k8s.aws";
export const RDS = "rds.services.k8s.aws";
export const A = "arn:aws:iam::111111111111:role/a";
export const B = "arn:aws:iam::222222222222:role/b";

/** Returns an inventory that contains `objects` and the namespaces team-a and team-b. */
export function inventoryOf(objects: readonly JsonObject[], runtime: "ack" | "extended" = "ack"): Inventory {
  const inventory = new Inventory({ runtime, origin: "file" });
  inventory.apply([namespaceObject("team-a", { env: "prod" }), namespaceObject("team-b"), ...objects].map(put));
  return inventory;
}

/** Returns a selector of the namespace team-a. */
export function selector(name: string, arn: string, rest: JsonObject = {}): JsonObject {
  return selectorObject(name, { arn, namespaceSelector: { names: ["team-a"] }, ...rest });
}

export type ComparableGrant = Exclude<Grant, RoleGrant> | Pick<RoleGrant, "verdict" | "roleARN" | "selectors">;

/** Returns the grant without its session settings. */
export function comparable(grant: Grant): ComparableGrant {
  return grant.verdict === "role" ? role(grant.roleARN, ...grant.selectors) : grant;
}

/** Returns the expected grant of a role. */
export function role(arn: string, ...selectors: string[]): ComparableGrant {
  return { verdict: "role", roleARN: arn, selectors };
}
