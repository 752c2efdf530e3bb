import { CM_15 } from "../../shared/carm/map-key-checks.ts";
import { CARM_MAP, IS_CARM_MAP } from "../../shared/carm/kinds.ts";
import type { Part } from "../part.ts";
import type { GuardedKind } from "../policies/requesters.ts";
import { rightsOf, roleWithBinding, webhookAccount } from "../rbac.ts";

/** The right of the webhook to read the CARM maps. */
export const CARM_MAP_RIGHTS: Part = {
  objects: (options) => (
    roleWithBinding("carm-maps", options.ackSystemNamespace, rightsOf("carm-maps"), webhookAccount(options))
  ),
};

/** The CARM maps in the policies for controllers and waivers. */
export const CARM_MAPS: GuardedKind = {
  kind: CARM_MAP, isOfType: 'request.kind.kind == "ConfigMap"', name: "is-selector-or-carm-map",
  isOfKind: IS_CARM_MAP.expression, check: CM_15, objects: "CARM maps", path: "data",
};
