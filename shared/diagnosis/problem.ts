import type { Identity } from "../capa/identity.ts";
import { CAPA_VERSION, INFRASTRUCTURE_GROUP } from "../core/capa-kinds.ts";
import type { Inventory } from "../core/inventory.ts";
import { SELECTOR_GROUP, SELECTOR_KIND } from "../core/ack-groups.ts";
import { apiVersionOf, type EventSubject } from "../formats/object-meta.ts";
import type { AnnotatedObject } from "./stale-resources.ts";

/** Returns the subject of an ACK resource, or of an object that refers to a CAPA identity. */
export function resourceSubject(resource: AnnotatedObject): EventSubject {
  const { kind, namespace, name, uid } = resource;
  return { apiVersion: apiVersionOf(resource), kind, namespace, name: name ?? "", uid };
}

export function selectorSubject(
  { name, uid }: { readonly name: string; readonly uid: string | null },
): EventSubject {
  return { apiVersion: `${SELECTOR_GROUP}/v1alpha1`, kind: SELECTOR_KIND, namespace: "", name, uid };
}

/** Returns the subject in the storage version of the kind. */
export function identitySubject(
  { kind, namespace, name, uid }: Pick<Identity, "kind" | "namespace" | "name" | "uid">,
  { kinds }: Pick<Inventory, "kinds">,
): EventSubject {
  const type = kinds.typeOf({ group: INFRASTRUCTURE_GROUP, version: CAPA_VERSION, kind });
  return { apiVersion: apiVersionOf(type), kind, namespace, name, uid };
}
