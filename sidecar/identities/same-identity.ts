import { isDeepStrictEqual } from "node:util";
import type { Identity } from "../../shared/decisions/identities/identity.ts";

/** Whether the two versions of an identity are equal, except for their metadata. Null stands for a removed identity. */
export function isSameIdentity(current: Identity | null, identity: Identity): boolean {
  return isDeepStrictEqual({ ...current, resourceVersion: null }, { ...identity, resourceVersion: null });
}
