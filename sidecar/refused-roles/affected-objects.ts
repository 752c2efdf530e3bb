import { resourceSubject } from "../../shared/checks/problem.ts";
import { BodyTooLarge } from "../../shared/cluster/api.ts";
import { type Page, type PageRequest, readPages } from "../../shared/cluster/pages.ts";
import { type SendPorts, sendRequest } from "../../shared/cluster/send-request.ts";
import { collectionPath, METADATA_TYPES } from "../../shared/cluster/watched-kind.ts";
import { resourceOf } from "../../shared/contract/ack-resource.ts";
import { REFERRER_KINDS } from "../../shared/contract/capa-kinds.ts";
import { field, isJsonObject, type JsonObject, stringAt } from "../../shared/formats/json.ts";
import { apiVersionOf, type EventSubject } from "../../shared/formats/object-meta.ts";
import type { Inventory } from "../../shared/inventory/inventory.ts";
import { type Identity, identityKey } from "../../shared/model/identity.ts";
import { readReferrer, referenceOf } from "../../shared/model/referrer.ts";
import type { TypeEntry } from "../../shared/model/resource-types.ts";
import { identityChain } from "../../shared/resolution/identity-chain.ts";
import { selectionFor } from "../../shared/resolution/selection.ts";

interface AffectedResourcePorts extends AffectedPorts {
  /** The groups of --group. */
  readonly groups: readonly string[];
}

/** Yields resources whose role the selector sets. Lists only metadata. */
export function affectedResources(selector: string, ports: AffectedResourcePorts): AsyncIterable<EventSubject> {
  const { inventory, groups } = ports;
  const types = Array.from(inventory.kinds.installedTypes()).filter(({ group }) => groups.includes(group));
  return affectedObjects(types, ports, {
    metadataOnly: true,
    subjectOf(object) {
      const resource = resourceOf(object);
      const { outcome, selectors } = selectionFor(inventory, resource);
      return outcome === "selected" && selectors[0]?.name === selector ? resourceSubject(resource) : null;
    },
  });
}

/**
 * Yields clusters, and other objects that use an identity, whose chain contains the identity and allows their
 * namespace. Templates use no credentials.
 */
export function affectedClusters(identity: Identity, ports: AffectedPorts): AsyncIterable<EventSubject> {
  const { inventory } = ports;
  const types = REFERRER_KINDS.flatMap(({ group, kind, isTemplate }) => {
    const version = isTemplate ? null : inventory.kinds.servedVersion(group, kind);
    return version === null ? [] : [{ group, version, kind }];
  });
  const subjectOf = (object: JsonObject): EventSubject | null => subjectIfAffected(object, identity, inventory);
  return affectedObjects(types, ports, { metadataOnly: false, subjectOf });
}

function subjectIfAffected(object: JsonObject, identity: Identity, inventory: Inventory): EventSubject | null {
  const referrer = readReferrer(object);
  const reference = referrer === null ? null : referenceOf(referrer, inventory.runtime);
  if (referrer === null || reference === null) return null;
  const { identities, denial } = identityChain(inventory, reference, referrer.namespace);
  const key = identityKey(identity);
  return denial === null && identities.some((one) => identityKey(one) === key) ? resourceSubject(referrer) : null;
}

/** The maximum number of objects that are reported for one role. */
const MAX_AFFECTED = 20;
const PAGE_SIZE = 500;
/** The maximum number of pages of a kind. Limits the search to 10,000 objects of each kind, fewer if they are large. */
const MAX_PAGES = 20;
const TIMEOUT_MS = 10_000;

export interface AffectedPorts extends SendPorts {
  readonly inventory: Inventory;
}

interface Search {
  /** Whether to list only the metadata of the objects. */
  readonly metadataOnly: boolean;
  /** Returns the subject of an Event; null if the role does not affect the object. */
  readonly subjectOf: (object: JsonObject) => EventSubject | null;
}

/**
 * Yields up to 20 objects of the types that a role affects. Lists the objects with the rights of the controller, whose
 * service account the sidecar uses. Skips a type that cannot be listed.
 */
export async function* affectedObjects(
  types: readonly TypeEntry[], ports: AffectedPorts, { metadataOnly, subjectOf }: Search,
): AsyncIterable<EventSubject> {
  let found = 0;
  for (const type of types) {
    // Pages are read in sequence.
    // oxlint-disable-next-line no-await-in-loop
    for await (const object of listedObjects(type, ports, metadataOnly)) {
      const subject = subjectOf(object);
      if (subject === null) continue;
      yield subject;
      if (++found === MAX_AFFECTED) return;
    }
  }
}

/** Yields at most the first 10,000 objects of a type. Yields nothing if the type cannot be listed. */
async function* listedObjects(
  type: TypeEntry, ports: AffectedPorts, metadataOnly: boolean,
): AsyncIterable<JsonObject> {
  const plural = ports.inventory.kinds.versions(type.group, type.kind)?.plural ?? "";
  const path = collectionPath({ ...type, plural });
  const accept = metadataOnly ? { accept: METADATA_TYPES.list } : {};
  let pages = 0;
  const read = ({ query, maxBytes }: PageRequest): ReturnType<typeof readPage> => (
    readPage({ path: `${path}?${query}`, ...accept }, { ...ports, maxBytes })
  );
  for await (const { items } of readPages(PAGE_SIZE, read)) {
    for (const item of items) {
      if (isJsonObject(item)) yield { ...item, apiVersion: apiVersionOf(type), kind: type.kind };
    }
    if (++pages === MAX_PAGES) return;
  }
}

/** Returns one page of a list; an empty last page if it cannot be read. Rejects with BodyTooLarge. */
async function readPage(
  request: Parameters<typeof sendRequest>[1], { maxBytes, ...ports }: SendPorts & Pick<PageRequest, "maxBytes">,
): Promise<Page & { readonly items: readonly unknown[] }> {
  try {
    const { status, object } = await sendRequest(ports, request, { timeoutMs: TIMEOUT_MS, maxBytes });
    const items = field(object, "items");
    if (status !== 200 || !Array.isArray(items)) return { items: [], continuation: "" };
    return { items, continuation: stringAt(object, "metadata", "continue") ?? "" };
  } catch (error) {
    if (error instanceof BodyTooLarge) throw error;
    return { items: [], continuation: "" };
  }
}
