import type { SettingsFor } from "../../shared/contract/settings.ts";
import { namespaceOf } from "../../shared/files/object-key.ts";
import type { State, StateObject } from "./state.ts";

/**
 * Returns the objects that a command reports. With --cluster, --namespace selects the objects of one namespace; the
 * decisions still read the whole cluster.
 */
export function reportedObjects(
  { objects }: Pick<State, "objects">, { cluster, namespace }: Pick<SettingsFor<"audit">, "cluster" | "namespace">,
): readonly StateObject[] {
  if (!cluster || namespace === null) return objects;
  return objects.filter(({ object }) => namespaceOf(object) === namespace);
}
