import type { AccessByName } from "../../context.ts";
import { readReferrer, type Referrer } from "../../identities/referrer.ts";
import { resolveReferrer } from "../../identities/resolve.ts";
import type { JsonObject } from "../../kubernetes/json.ts";
import type { Resolution } from "../../resolution/resolve.ts";
import type { CheckContext, CheckInput } from "../change.ts";

/** A change of an object that refers to a CAPA identity, which the cluster checks examine. */
export interface ClusterChange extends CheckContext {
  readonly object: JsonObject;
  readonly referrer: Referrer;
  /** The identities of the object after the change. */
  readonly resolution: Resolution;
  /** The stored object at UPDATE; otherwise null. */
  readonly stored: Referrer | null;
  /** Whether the requester may use the identity; null if no access review was made. */
  readonly access: AccessByName | null;
}

/** Returns the change, or null if objects of this kind do not refer to an identity. */
export function clusterChange(
  { access = null, object, old }: Pick<CheckInput, "access" | "object" | "old">, context: CheckContext,
): ClusterChange | null {
  const referrer = readReferrer(object);
  if (referrer === null) return null;
  const resolution = resolveReferrer(context.inventory, referrer, context.settings);
  return { ...context, access, object, referrer, resolution, stored: old === null ? null : readReferrer(old) };
}
