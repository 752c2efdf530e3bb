import { pageAssets } from "../../build/page-assets.ts";
import { decisionSettings } from "../../shared/core/context.ts";
import type { SettingsFor } from "../../shared/core/settings.ts";
import { auditObjects } from "../../shared/diagnosis/audit.ts";
import { drain } from "../../shared/formats/paced.ts";
import type { Inventory } from "../../shared/core/inventory.ts";
import { roleMapOf } from "../../shared/diagnosis/role-map/build-map.ts";
import type { RoleMap } from "../../shared/diagnosis/role-map/role-map.ts";
import { startMapServer } from "../../webhook/map-server.ts";
import type { PageServer } from "../../shared/server/page-server.ts";
import type { ManifestSource } from "../../shared/sources/file-source.ts";
import { mapInput } from "../input/map-input.ts";

type Source = Pick<ManifestSource, "manifests" | "inventory" | "status" | "onChange">;

/** Serves the page of the roles, which follows the manifests. */
export async function startLiveMap(
  listen: string, source: Source, settings: SettingsFor<"local">,
): Promise<PageServer> {
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
}
