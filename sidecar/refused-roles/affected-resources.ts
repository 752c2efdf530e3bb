import { type ACKResource, resourceOf } from "../../shared/decisions/kubernetes/ack-resource.ts";
import { selectionFor } from "../../shared/decisions/resolution/selection.ts";
import type { Inventory } from "../../shared/decisions/inventory/inventory.ts";
import type { SendPorts } from "../../shared/inventory/cluster/send-request.ts";
import { listedObjects } from "./listed-objects.ts";

/** The maximum number of objects that are reported for one role. */
export const MAX_AFFECTED = 20;

interface AffectedResourcePorts extends SendPorts {
  readonly inventory: Inventory;
  /** The groups of --group. */
  readonly groups: readonly string[];
}

/**
 * Yields up to 20 resources whose role the selector sets. Lists only metadata, with the rights of the controller, whose
 * service account the sidecar uses. Skips a kind that cannot be listed.
 */
export async function* affectedResources(selector: string, ports: AffectedResourcePorts): AsyncIterable<ACKResource> {
  let found = 0;
  for (const type of ports.inventory.kinds.installedTypes()) {
    if (!ports.groups.includes(type.group)) continue;
    // Pages are read in sequence.
    // oxlint-disable-next-line no-await-in-loop
    for await (const object of listedObjects(type, ports, { metadataOnly: true })) {
      const resource = resourceOf(object);
      const { outcome, selectors } = selectionFor(ports.inventory, resource);
      if (outcome !== "selected" || selectors[0]?.name !== selector) continue;
      yield resource;
      if (++found === MAX_AFFECTED) return;
    }
  }
}
