import type { KubernetesAPI } from "../../shared/api/api.ts";
import type { JsonObject } from "../../shared/formats/json.ts";
import { objectReference } from "../../shared/formats/object-meta.ts";
import type * as ControllerObjects from "./controller-objects.ts";
import type { InstalledSidecars } from "../../webhook/sidecar-pods.ts";

interface Requested {
  readonly readsControllers?: boolean;
  readonly readsSidecars?: boolean;
}

interface Workloads {
  readonly found: Awaited<ReturnType<typeof ControllerObjects.listControllerObjects>>;
  readonly sidecars: InstalledSidecars | null;
  /** Those that audit checks. */
  readonly checked: readonly JsonObject[];
}

/** Reads the Deployments of the controllers and the Pods with a sidecar, if they are requested. */
export async function readWorkloads(
  api: KubernetesAPI, namespace: string, { readsControllers = false, readsSidecars = false }: Requested,
): Promise<Workloads> {
  const [{ listControllerObjects }, { readSidecars }] = await Promise.all([
    import("./controller-objects.ts"), import("../../webhook/sidecar-pods.ts"),
  ]);
  const found = readsControllers ? await listControllerObjects(api, namespace) : { objects: [], unread: null };
  const sidecars = readsSidecars ? await readSidecars(api, namespace) : null;
  const pods = sidecars?.pods.map(withoutManagedFields) ?? [];
  return { found, sidecars, checked: [...deploymentsIn(found.objects, namespace), ...pods] };
}

/** Returns the Deployments in a namespace, which audit checks. */
function deploymentsIn(objects: readonly JsonObject[], namespace: string): JsonObject[] {
  return objects.filter((object) => {
    const reference = objectReference(object);
    return reference.kind === "Deployment" && reference.namespace === namespace;
  }).map(withoutManagedFields);
}

/**
 * Returns the object without metadata.managedFields, because no check reads this field, which is often a third of the
 * object.
 */
export function withoutManagedFields(object: JsonObject): JsonObject {
  const metadata = Object.entries(object["metadata"] ?? {}).filter(([name]) => name !== "managedFields");
  return { ...object, metadata: Object.fromEntries(metadata) };
}
