import { grantIdentity } from "../../shared/capa/grant-by-identity.ts";
import { IDENTITIES } from "../../shared/capa/identities.ts";
import { INFRASTRUCTURE_GROUP } from "../../shared/core/capa-kinds.ts";
import type { Feature } from "../feature.ts";

/** The identities of Cluster API. */
export const CAPA: Feature = {
  servedGroups: (inventory) => (inventory.of(IDENTITIES).size > 0 ? [INFRASTRUCTURE_GROUP] : []),
  /** Returns the path of an identity whose role the sidecar's own credentials assume. */
  examplePathOf(resolved, inventory, settings) {
    const query = { scope: null, settings, allowedAudiences: [] };
    for (const { resource: { namespace }, chain } of resolved) {
      const [used] = chain ?? [];
      const grant = used === undefined ? null : grantIdentity(inventory, { ...used, namespace }, query);
      if (used === undefined || grant?.verdict !== "identity" || grant.source !== null) continue;
      return `identities/${used.kind}/${used.name}?namespace=${namespace}`;
    }
    return null;
  },
};
