import type { InventorySource } from "../inventory/source.ts";
import type { Logger } from "./logger.ts";

/**
 * Logs when the inventory is loaded, when its view stops being current, with the reason, and when it is current again; a line for each
 * change of state, however often a source tries. Returns what ends it.
 */
export function logInventory(source: InventorySource, log: Logger): () => void {
  let loaded = false;
  let current = true;
  const look = (): void => {
    const { status, inventory } = source;
    if (status.loaded && !loaded) log.info({ selectors: inventory.selectors.size, malformed_selectors: inventory.malformed.size }, "inventory loaded");
    else if (status.fault === null && !current) log.info("inventory is current again");
    if (status.fault !== null && current) log.warn({ fault: status.fault }, status.loaded ? "inventory is not current; the last good view stays in force" : "inventory could not be read yet");
    loaded = status.loaded;
    current = status.fault === null;
  };
  look();
  return source.onChange(look);
}
