import { apiVersionOf, type EventSubject } from "../formats/object-meta.ts";
import { SELECTOR_GROUP, SELECTOR_KIND } from "./ack-groups.ts";
import type { RoleObject } from "./inventory.ts";

/** Returns the subject of an object that has a role, such as an ACK resource. */
export function resourceSubject(
  object: Omit<RoleObject, "annotations"> & { readonly uid: string | null },
): EventSubject {
  const { kind, namespace, name, uid } = object;
  return { apiVersion: apiVersionOf(object), kind, namespace, name: name ?? "", uid };
}

export function selectorSubject(
  { name, uid }: { readonly name: string; readonly uid: string | null },
): EventSubject {
  return { apiVersion: `${SELECTOR_GROUP}/v1alpha1`, kind: SELECTOR_KIND, namespace: "", name, uid };
}
