import { pageAssets } from "../../build/page-assets.ts";
import { decisionSettings } from "../../shared/contract/context.ts";
import type { SettingsFor } from "../../shared/contract/settings.ts";
import { auditObjects } from "../../shared/checks/audit.ts";
import { drain } from "../../shared/formats/paced.ts";
import type { Inventory } from "../../shared/inventory/inventory.ts";
import { roleMapOf } from "../../shared/role-map/build-map.ts";
import { type PageData, pageHTML } from "../../shared/role-map/page-html.ts";
import type { RoleMap } from "../../shared/role-map/role-map.ts";
import { type PageServer, startPageServer } from "../../shared/server/page-server.ts";
import type { ManifestSource } from "../../shared/sources/file-source.ts";
import { mapInput } from "../input/map-input.ts";

type Source = Pick<ManifestSource, "manifests" | "inventory" | "status" | "onChange">;

/** Serves the page of the roles, which follows the manifests. */
export async function startLiveMap(
  listen: string, source: Source, settings: SettingsFor<"local">,
): Promise<PageServer> {
  const maps = new LiveMaps(source, settings);
  let assets: ReturnType<typeof pageAssets> | null = null;
  const server = await startPageServer({
    flag: "--listen", listen, page: async () => pageHTML(await (assets ??= pageAssets()), maps.data()),
    data: async () => JSON.stringify(maps.data()),
  });
  source.onChange(() => server.notify());
  return server;
}

/** The map of the current manifests. Several pages share it. */
class LiveMaps {
  readonly #source: Source;
  readonly #settings: SettingsFor<"local">;
  #inventory: Inventory | null = null;
  #map: RoleMap | null = null;

  constructor(source: Source, settings: SettingsFor<"local">) {
    this.#source = source;
    this.#settings = settings;
  }

  data(): PageData {
    const { inventory, status: { fault } } = this.#source;
    if (this.#map === null || this.#inventory !== inventory) {
      this.#inventory = inventory;
      this.#map = this.#mapOf(inventory);
    }
    return { maps: [this.#map], stale: fault === null ? null : `the manifests are invalid: ${fault}` };
  }

  #mapOf(inventory: Inventory): RoleMap {
    const { manifests } = this.#source;
    const settings = decisionSettings(this.#settings);
    const objects = manifests.map(({ object }) => object);
    const audit = drain(auditObjects({ objects, inventory, origin: "file" }, settings));
    const state = { root: null, inventory, objects: manifests, audit, unjudged: [], impacts: null };
    return drain(roleMapOf(mapInput(state, settings)));
  }
}
