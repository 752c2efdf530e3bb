import { pageAssets } from "../../build/role-map/page-assets.ts";
import { objectFindings } from "../../shared/diagnosis/problems.ts";
import type { DecisionSettings } from "../../shared/core/context.ts";
import type { Inventory } from "../../shared/core/inventory.ts";
import { type MapResource, roleMapOf } from "../../shared/diagnosis/role-map/build-map.ts";
import type { RoleMap } from "../../shared/diagnosis/role-map/role-map.ts";
import { annotatedObjects } from "../../shared/diagnosis/stale-resources.ts";
import type { PartPorts } from "../part.ts";
import { startMapServer } from "./map-server.ts";
import type { PageServer } from "../../shared/server/page-server.ts";
import { runInSlices } from "../../shared/sources/slices.ts";

/** Serves the page of the roles in the cluster, which only reads the inventory of the webhook. */
export async function startLiveMap(
  listen: string, { source, settings, clock, turns }: Omit<PartPorts, "log">,
): Promise<PageServer> {
  const build = async (inventory: Inventory): Promise<RoleMap> => {
    const input = {
      root: null, inventory, settings, resources: liveResources(inventory, settings), selectors: new Map(),
      objects: [], unjudged: [], impacts: null,
    };
    return await runInSlices(roleMapOf(input), {
      sliceMs: SLICE_MS, clock, remainingMs: UNLIMITED, pause: (pauses) => turns.pause(pauses, UNLIMITED),
    });
  };
  return await startMapServer({
    flag: "--ui", listen, clock, notifyMs: NOTIFY_MS, source, build, assets: pageAssets,
    stale: ({ loaded, fault }) => fault ?? (loaded ? null : OUTDATED),
  });
}

/** A map of 100,000 resources takes seconds of processor time, which reviews need too. */
const NOTIFY_MS = 10_000;
/** The maximum time for which the map blocks reviews, in ms. */
const SLICE_MS = 5;
const OUTDATED = "the inventory is not loaded, or older than 5 minutes";
const UNLIMITED = (): number => Infinity;

/** Yields the objects of the inventory that have a role. They are not known as a whole. */
function* liveResources(inventory: Inventory, settings: DecisionSettings): Iterable<MapResource> {
  for (const resource of annotatedObjects(inventory)) {
    yield { resource, findings: (resolution) => objectFindings({ resource, resolution }, { inventory, settings }) };
  }
}
