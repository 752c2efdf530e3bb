import { CM_15 } from "../../shared/carm/map-key-checks.ts";
import { CARM_MAP } from "../../shared/carm/kinds.ts";
import { not } from "../../shared/formats/cel.ts";
import { OF_MAPS, type ProtectedKind } from "../policies/trust.ts";

/** ACK controllers must not write the maps from which they take their roles. */
export const PROTECTED_MAPS: ProtectedKind = {
  kind: CARM_MAP, check: CM_15, isOther: not(OF_MAPS), objects: "CARM maps", path: "data",
};
