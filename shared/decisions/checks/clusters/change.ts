import { readReferrer, type Referrer } from "../../identities/referrer.ts";
import { resolveReferrer } from "../../identities/resolve.ts";
import type { JsonObject } from "../../kubernetes/json.ts";
import { objectReference } from "../../kubernetes/object-meta.ts";
import type { Resolution } from "../../resolution/resolve.ts";
import type { CheckContext, CheckInput } from "../change.ts";
import { identityUses } from "./identity-uses.ts";
import type { UseChange } from "./use.ts";

/** A change of an object that refers to a CAPA identity, which the cluster checks examine. */
export interface ClusterChange extends CheckContext, UseChange {
  readonly object: JsonObject;
  readonly referrer: Referrer;
  /** The identities of the object after the change. */
  readonly resolution: Resolution;
  /** The stored object at UPDATE; otherwise null. */
  readonly stored: Referrer | null;
}

/** Returns the change, or null if objects of this kind do not refer to an identity. */
export function clusterChange(
  input: Pick<CheckInput, "access" | "object" | "old">, context: CheckContext,
): ClusterChange | null {
  const { object, old } = input;
  const referrer = readReferrer(object);
  if (referrer === null) return null;
  const resolution = resolveReferrer(context.inventory, referrer, context.settings);
  const stored = old === null ? null : readReferrer(old);
  return { ...context, ...useChange(input, context), object, referrer, resolution, stored };
}

/** Returns the identities that the changed object uses. */
export function useChange(
  { access = null, object, old }: Pick<CheckInput, "access" | "object" | "old">, context: CheckContext,
): UseChange {
  const { namespace } = objectReference(object);
  return { access, namespace, uses: () => identityUses(object, old, context) };
}
