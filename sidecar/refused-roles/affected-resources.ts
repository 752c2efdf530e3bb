import { resourceOf } from "../../shared/decisions/kubernetes/ack-resource.ts";
import { type EventSubject, resourceSubject } from "../../shared/decisions/problems/problem.ts";
import { selectionFor } from "../../shared/decisions/resolution/selection.ts";
import { affectedObjects, type AffectedPorts } from "./affected-objects.ts";

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
