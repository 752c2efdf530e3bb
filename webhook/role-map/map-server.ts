import type { Inventory } from "../../shared/core/inventory.ts";
import { type Assets, type PageData, pageHTML } from "../../shared/diagnosis/role-map/page-html.ts";
import type { RoleMap } from "../../shared/diagnosis/role-map/role-map.ts";
import type { InventorySource } from "../../shared/sources/source.ts";
import { type PageServer, type PageServerOptions, startPageServer } from "../../shared/server/page-server.ts";

type Source = Pick<InventorySource, "inventory" | "status" | "onChange">;

interface LiveMapOptions extends Omit<PageServerOptions, "page" | "data"> {
  readonly source: Source;
  readonly assets: () => Promise<Assets>;
  readonly build: (inventory: Inventory) => RoleMap | Promise<RoleMap>;
  /** Returns why the inventory may be out of date, or null. */
  readonly stale: (status: Source["status"]) => string | null;
}

/** Serves the page of the roles, which follows the inventory. Pages that ask at the same time share a map. */
export async function startMapServer(options: LiveMapOptions): Promise<PageServer> {
  const { source, assets, build, stale, ...serverOptions } = options;
  let [built, revision]: [Inventory | null, number] = [null, -1];
  let map: Promise<RoleMap> | null = null;
  const data = async (): Promise<PageData> => {
    const { inventory, status } = source;
    if (map === null || inventory !== built || inventory.revision !== revision) {
      [built, revision] = [inventory, inventory.revision];
      map = Promise.resolve(inventory).then(build);
      map.catch(() => (map = null));
    }
    return { maps: [await map], stale: stale(status) };
  };
  let loaded: Promise<Assets> | null = null;
  const server = await startPageServer({
    ...serverOptions, page: async () => pageHTML(await (loaded ??= assets()), await data()),
    data: async () => JSON.stringify(await data()),
  });
  const stop = source.onChange(() => server.notify());
  return {
    ...server,
    close: async () => {
      stop();
      await server.close();
    },
  };
}
