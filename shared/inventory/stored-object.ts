import { REFERRERS } from "../capa/referrers.ts";
import { RESOURCES } from "../ack/resources.ts";
import { IDENTITIES } from "../capa/identities.ts";
import { SELECTORS } from "../ack/selectors.ts";
import { CARM_MAPS } from "../carm/map-store.ts";
import { REPLACES_ANNOTATION } from "../core/annotation-keys.ts";
import { isOfTemplate } from "../capa/referrer.ts";
import type { KindID } from "../kinds.ts";
import type { JsonObject } from "../formats/json.ts";
import type { LabelSelector } from "../formats/label-selector.ts";
import { apiVersionOf } from "../formats/object-meta.ts";
import type { ACKResource } from "../core/ack-resource.ts";
import type { EffectiveSelector } from "../core/effective-selector.ts";
import type { Inventory } from "../core/inventory.ts";

interface ObjectID {
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly namespace: string;
  readonly name: string;
}

type Stored = (id: ObjectID, inventory: Inventory) => JsonObject | null;

/** The kinds whose deletion is checked. */
const STORED: Partial<Record<KindID, Stored>> = {
  selector: storedSelector,
  namespace: (id, { namespaces }) => (namespaces.has(id.name) ? { ...typeOf(id), metadata: { name: id.name } } : null),
  "carm-map": storedMap,
  "selector-definition": storedDefinition,
  "resource-definition": storedDefinition,
  identity: storedIdentity,
  cluster: storedReferrer,
  resource: storedResource,
};

/**
 * Returns an object with the fields of the inventory that the checks of a deletion read. Returns null if the inventory
 * does not contain the object, or no check applies to its deletion. A deletion can then be checked although the object
 * is too large to be parsed.
 */
export function storedObject(kind: KindID, id: ObjectID, inventory: Inventory): JsonObject | null {
  return STORED[kind]?.(id, inventory) ?? null;
}

function typeOf({ kind }: ObjectID): JsonObject {
  return { apiVersion: apiVersionOf(kind), kind: kind.kind };
}

/** Returns the fields that AC-05 reads. */
function storedReferrer(id: ObjectID, inventory: Inventory): JsonObject | null {
  const { kind, namespace, name } = id;
  const referrer = inventory.of(REFERRERS).get({ ...kind, namespace, name });
  if (referrer === null) return null;
  const spec = { identityRef: referrer.written };
  return { ...typeOf(id), metadata: { name, namespace }, spec: isOfTemplate(kind) ? { template: { spec } } : spec };
}

function storedMap(id: ObjectID, inventory: Inventory): JsonObject | null {
  const { namespace, name } = id;
  const data = inventory.of(CARM_MAPS).data(namespace, name);
  return data === null ? null : { ...typeOf(id), metadata: { namespace, name }, data: Object.fromEntries(data) };
}

function storedIdentity(id: ObjectID, inventory: Inventory): JsonObject | null {
  const { kind: { kind }, namespace, name } = id;
  const identity = inventory.of(IDENTITIES).get({ kind, name }, namespace);
  return identity === null ? null : { ...typeOf(id), metadata: { name, namespace: identity.namespace }, spec: {} };
}

function storedResource(id: ObjectID, inventory: Inventory): JsonObject | null {
  const resource = inventory.of(RESOURCES).get({ ...id.kind, namespace: id.namespace, name: id.name });
  return resource === null ? null : { ...typeOf(id), ...resourceFields(resource) };
}

/** The inventory contains the complete object only of a selector that has a fault. */
function storedSelector(id: ObjectID, inventory: Inventory): JsonObject | null {
  const { name } = id;
  const faulty = inventory.of(SELECTORS).faulty.get(name);
  if (faulty !== undefined) return faulty.object;
  const effective = inventory.of(SELECTORS).get(name);
  return effective === undefined ? null : { ...typeOf(id), ...selectorFields(effective) };
}

/** Returns fields from which `compileSpec` creates an equal selector. */
function selectorFields(selector: EffectiveSelector): JsonObject {
  const { name, uid, resourceVersion, roleARN, namespaceLabels, resourceLabels } = selector;
  const labelSelector = labelFields(namespaceLabels);
  return {
    metadata: { name, uid, resourceVersion, annotations: { [REPLACES_ANNOTATION]: [...selector.replaces].join() } },
    spec: {
      arn: roleARN,
      namespaceSelector: { names: [...selector.namespaces ?? []], ...(labelSelector !== null && { labelSelector }) },
      resourceTypeSelector: selector.types?.entries ?? [],
      ...(resourceLabels !== null && { resourceLabelSelector: labelFields(resourceLabels) }),
    },
  };
}

function labelFields(selector: LabelSelector | null): JsonObject | null {
  if (selector === null) return null;
  return { matchLabels: Object.fromEntries(selector.matchLabels), matchExpressions: selector.matchExpressions };
}

function storedDefinition(id: ObjectID, { kinds }: Inventory): JsonObject | null {
  const { name } = id;
  for (const definition of kinds.definitions()) {
    if (definition.name !== name) continue;
    return { ...typeOf(id), metadata: { name }, spec: { group: definition.group, names: { kind: definition.kind } } };
  }
  return null;
}

function resourceFields(resource: ACKResource): JsonObject {
  const { namespace, name, labels, annotations, status: { ownerAccountID, region }, created, deleting } = resource;
  const conditions = created ? [{ type: "ACK.ResourceSynced", status: "True" }] : [];
  return {
    metadata: {
      name, namespace, labels: Object.fromEntries(labels), annotations: Object.fromEntries(annotations),
      ...(deleting && { deletionTimestamp: "1970-01-01T00:00:00Z" }),
    },
    status: { ackResourceMetadata: { ownerAccountID, region }, conditions },
  };
}
