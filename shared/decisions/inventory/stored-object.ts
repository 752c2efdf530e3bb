import { REPLACES_ANNOTATION } from "../annotation-keys.ts";
import { isIdentityKind, referrerKindOf } from "../identities/kinds.ts";
import { isOfTemplate } from "../identities/referrer.ts";
import type { JsonObject } from "../kubernetes/json.ts";
import type { LabelSelector } from "../kubernetes/label-selector.ts";
import { apiVersionOf } from "../kubernetes/object-meta.ts";
import type { ACKResource } from "../kubernetes/ack-resource.ts";
import { isCARMMapName, SELECTOR_GROUP, SELECTOR_KIND } from "../kubernetes/kinds.ts";
import type { EffectiveSelector } from "../selectors/effective.ts";
import type { Inventory } from "./inventory.ts";

interface ObjectID {
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly namespace: string;
  readonly name: string;
}

/**
 * Returns an object with the fields of the inventory that the checks of a deletion read. Returns null if the inventory
 * does not contain the object, or no check applies to its deletion. A deletion can then be checked although the object
 * is too large to be parsed.
 */
export function storedObject({ kind, namespace, name }: ObjectID, inventory: Inventory): JsonObject | null {
  const type = { apiVersion: apiVersionOf(kind), kind: kind.kind };
  switch (`${kind.kind}.${kind.group}`) {
    case `${SELECTOR_KIND}.${SELECTOR_GROUP}`:
      return storedSelector(type, name, inventory);
    case "Namespace.":
      return inventory.namespaces.has(name) ? { ...type, metadata: { name } } : null;
    case "ConfigMap.":
      return storedMap(type, { namespace, name }, inventory);
    case "CustomResourceDefinition.apiextensions.k8s.io":
      return storedDefinition(type, name, inventory);
    default:
      return storedOfService({ kind, namespace, name }, inventory);
  }
}

function storedOfService(id: ObjectID, inventory: Inventory): JsonObject | null {
  if (isIdentityKind(id.kind)) return storedIdentity(id, inventory);
  return referrerKindOf(id.kind) === null ? storedResource(id, inventory) : storedReferrer(id, inventory);
}

/** Returns the fields that AC-05 reads. */
function storedReferrer({ kind, namespace, name }: ObjectID, { referrers }: Inventory): JsonObject | null {
  const referrer = referrers.get({ ...kind, namespace, name });
  if (referrer === null) return null;
  const spec = { identityRef: referrer.written };
  const type = { apiVersion: apiVersionOf(kind), kind: kind.kind };
  return { ...type, metadata: { name, namespace }, spec: isOfTemplate(kind) ? { template: { spec } } : spec };
}

function storedMap(
  type: JsonObject, metadata: Pick<ObjectID, "namespace" | "name">, inventory: Inventory,
): JsonObject | null {
  const data = isCARMMapName(metadata.name) ? inventory.configMap(metadata.namespace, metadata.name) : null;
  return data === null ? null : { ...type, metadata, data: Object.fromEntries(data) };
}

function storedIdentity({ kind, namespace, name }: ObjectID, { identities }: Inventory): JsonObject | null {
  const identity = identities.get({ kind: kind.kind, name }, namespace);
  if (identity === null) return null;
  const metadata = { name, namespace: identity.namespace };
  return { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata, spec: {} };
}

function storedResource({ kind, namespace, name }: ObjectID, { resources }: Inventory): JsonObject | null {
  const resource = resources.get({ ...kind, namespace, name });
  return resource === null ? null : { apiVersion: apiVersionOf(kind), kind: kind.kind, ...resourceFields(resource) };
}

/** The inventory contains the complete object only of a selector that has a fault. */
function storedSelector(type: JsonObject, name: string, { selectors }: Inventory): JsonObject | null {
  const faulty = selectors.faulty.get(name) ?? selectors.malformed.get(name);
  if (faulty !== undefined) return faulty.object;
  const effective = selectors.get(name);
  return effective === undefined ? null : { ...type, ...selectorFields(effective) };
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

function storedDefinition(type: JsonObject, name: string, { kinds }: Inventory): JsonObject | null {
  for (const definition of kinds.definitions()) {
    if (definition.name !== name) continue;
    return { ...type, metadata: { name }, spec: { group: definition.group, names: { kind: definition.kind } } };
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
