import { needsStore } from "../core/requirements.ts";
import { CARM_MAPS } from "./map-store.ts";

/** What the checks of CARM need. */
export const CARM_NEEDS = { maps: needsStore("config maps", CARM_MAPS) } as const;
