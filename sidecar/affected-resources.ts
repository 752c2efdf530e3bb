import { type ACKResource, resourceOf } from "../shared/decisions/kubernetes/ack-resource.ts";
import { field, isJsonObject, stringAt } from "../shared/decisions/kubernetes/json.ts";
import { apiVersionOf } from "../shared/decisions/kubernetes/object-meta.ts";
import { selectionFor } from "../shared/decisions/resolution/selection.ts";
import type { TypeEntry } from "../shared/decisions/selectors/type-entry.ts";
import type { Inventory } from "../shared/decisions/inventory/inventory.ts";
import { type Page, readPages } from "../shared/inventory/cluster/pages.ts";
import { sendRequest, type SendPorts } from "../shared/inventory/cluster/send-request.ts";

/** The maximum number of affected resources that are returned. */
const MAX_RESOURCES = 20;
const PAGE_SIZE = 500;
/** The maximum number of pages of a kind. Limits the search to 10,000 resources of each kind. */
const MAX_PAGES = 20;
const TIMEOUT_MS = 10_000;
const METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

export interface AffectedResourcePorts extends SendPorts {
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
    for await (const resource of resourcesOf(type, ports)) {
      const { outcome, selectors } = selectionFor(ports.inventory, resource);
      if (outcome !== "selected" || selectors[0]?.name !== selector) continue;
      yield resource;
      if (++found === MAX_RESOURCES) return;
    }
  }
}

async function* resourcesOf(type: TypeEntry, ports: AffectedResourcePorts): AsyncIterable<ACKResource> {
  const plural = ports.inventory.kinds.versions(type.group, type.kind)?.plural ?? "";
  const path = `/apis/${type.group}/${type.version}/${plural}?limit=${PAGE_SIZE}`;
  let pages = 0;
  for await (const { items } of readPages((query) => readPage(`${path}${query}`, ports))) {
    for (const item of items) {
      if (isJsonObject(item)) yield resourceOf({ ...item, apiVersion: apiVersionOf(type), kind: type.kind });
    }
    if (++pages === MAX_PAGES) return;
  }
}

/** Returns one page of a list; an empty last page if it cannot be read. */
async function readPage(path: string, ports: SendPorts): Promise<Page & { readonly items: readonly unknown[] }> {
  try {
    const { status, object } = await sendRequest(ports, { path, accept: METADATA_ONLY }, TIMEOUT_MS);
    const items = field(object, "items");
    if (status !== 200 || !Array.isArray(items)) return { items: [], continuation: "" };
    return { items, continuation: stringAt(object, "metadata", "continue") ?? "" };
  } catch {
    return { items: [], continuation: "" };
  }
}
