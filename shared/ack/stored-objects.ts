import type { JsonObject } from "../formats/json.ts";
import type { LabelSelector } from "../formats/label-selector.ts";
import { SELECTORS } from "./selectors.ts";
import type { Inventory } from "../core/inventory.ts";
import { type ReviewedID, typeOf } from "../core/judge.ts";
import type { EffectiveSelector } from "../core/effective-selector.ts";
import type { ACKResource } from "../core/ack-resource.ts";
import { RESOURCES } from "./resources.ts";
import { REPLACES_ANNOTATION } from "../core/annotation-keys.ts";

// The objects whose deletion is checked, with the fields of the inventory that the checks read.

/** The inventory contains the complete object only of a selector that has a fault. */
export function storedSelector(id: ReviewedID, inventory: Inventory): JsonObject | null {
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

/** Returns a resource of the inventory. */
export function storedResource(id: ReviewedID, inventory: Inventory): JsonObject | null {
  const resource = inventory.of(RESOURCES).get({ ...id.kind, namespace: id.namespace, name: id.name });
  return resource === null ? null : { ...typeOf(id), ...resourceFields(resource) };
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

/** Returns a definition of the inventory. */
export function storedDefinition(id: ReviewedID, { kinds }: Inventory): JsonObject | null {
  const { name } = id;
  for (const definition of kinds.definitions()) {
    if (definition.name !== name) continue;
    return { ...typeOf(id), metadata: { name }, spec: { group: definition.group, names: { kind: definition.kind } } };
  }
  return null;
}

/** Returns a Namespace of the inventory. */
export function storedNamespace(id: ReviewedID, { namespaces }: Inventory): JsonObject | null {
  return namespaces.has(id.name) ? { ...typeOf(id), metadata: { name: id.name } } : null;
}
