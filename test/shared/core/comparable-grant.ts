import { grantInNamespace, grantRole, grantSelector } from "../../../shared/core/grant-decision.ts";
import type { Grant, NamespaceQuery, RoleQuery } from "../../../shared/core/grant.ts";
import type { Inventory } from "../../../shared/core/inventory.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { NO_EXTRAS } from "../../../shared/core/session.ts";
import { inventoryWith, namespaceObject, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";

export const S3 = "s3.services.k8s.aws";
export const RDS = "rds.services.k8s.aws";
export const A = "arn:aws:iam::111111111111:role/a";
export const B = "arn:aws:iam::222222222222:role/b";
export const ANYWHERE: RoleQuery = {
  groups: [S3], kinds: [], scope: null, settings: SETTINGS_BY_DEFAULT, sessionDefaults: NO_EXTRAS,
};
export const TEAM_A: NamespaceQuery = {
  namespace: "team-a", groups: [S3], kinds: [], labels: null, unmatched: "deny", settings: SETTINGS_BY_DEFAULT,
  sessionDefaults: NO_EXTRAS,
};

/** Returns an inventory that contains `objects` and the namespaces team-a and team-b. */
export function inventoryOf(objects: readonly JsonObject[], runtime: "ack" | "extended" = "ack"): Inventory {
  const namespaces = [namespaceObject("team-a", { env: "prod" }), namespaceObject("team-b")];
  return inventoryWith([...namespaces, ...objects], { runtime, origin: "file" });
}

/** Returns a selector of the namespace team-a. The keys of `extras` are session annotations without their prefix. */
export function selector(
  name: string, arn: string, rest: JsonObject = {}, extras: Readonly<Record<string, string>> = {},
): JsonObject {
  const annotations = Object.fromEntries(
    Object.entries(extras).map(([key, value]) => [`ack-role-resolver.io/${key}`, value]),
  );
  return selectorObject(name, { arn, namespaceSelector: { names: ["team-a"] }, ...rest }, { annotations });
}

/** Returns `CODE [SELECTORS] MESSAGE` of a denial, `ARN of SELECTORS` of a role, or `base`. */
export function grantText(grant: Grant): string {
  if (grant.verdict === "denied") return `${grant.code} [${grant.selectors.join(", ")}] ${grant.message}`;
  return grant.verdict === "role" ? `${grant.roleARN} of ${grant.selectors.join(",")}` : grant.verdict;
}

type InNamespace = readonly [objects: readonly JsonObject[], query?: Partial<NamespaceQuery>];
type OfRole = readonly [role: string, objects: readonly JsonObject[], query?: Partial<RoleQuery>];

/** Returns the grant to a namespace, by default team-a. */
export function inNamespace([objects, query = {}]: InNamespace): string[] {
  const inventory = inventoryOf(objects, query.settings?.runtime);
  return [grantText(grantInNamespace(inventory, { ...TEAM_A, ...query }))];
}

/** Returns the grant of a role by its ARN. */
export function ofRole([roleARN, objects, query = {}]: OfRole): string[] {
  return [grantText(grantRole(inventoryOf(objects, query.settings?.runtime), roleARN, { ...ANYWHERE, ...query }))];
}

/** Returns the grant of a selector by its name. */
export function ofSelector([name, objects, query = {}]: OfRole): string[] {
  return [grantText(grantSelector(inventoryOf(objects, query.settings?.runtime), name, { ...ANYWHERE, ...query }))];
}
