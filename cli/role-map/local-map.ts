import { pageAssets } from "../../build/role-map/page-assets.ts";
import { decisionSettings } from "../../shared/core/context.ts";
import type { Inventory } from "../../shared/core/inventory.ts";
import { auditObjects } from "../../shared/diagnosis/audit.ts";
import { roleMapOf } from "../../shared/diagnosis/role-map/build-map.ts";
import type { RoleMap } from "../../shared/diagnosis/role-map/role-map.ts";
import { drain } from "../../shared/formats/paced.ts";
import { startMapServer } from "../../webhook/role-map/map-server.ts";
import type { LocalServer } from "../feature.ts";
import { mapInput } from "./map-input.ts";

/** Serves the page of the roles, which follows the manifests. */
export const startLocalMap: LocalServer["start"] = async (listen, source, settings) => {
  const decisions = decisionSettings(settings);
  const build = (inventory: Inventory): RoleMap => {
    const { manifests } = source;
    const objects = manifests.map(({ object }) => object);
    const audit = drain(auditObjects({ objects, inventory, origin: "file" }, decisions));
    const state = { root: null, inventory, objects: manifests, audit, unjudged: [], impacts: null };
    return drain(roleMapOf(mapInput(state, decisions)));
  };
  return await startMapServer({
    flag: "--listen", listen, source, build, assets: pageAssets,
    stale: ({ fault }) => (fault === null ? null : `the manifests are invalid: ${fault}`),
  });
};
