import type { RoleObject } from "./inventory.ts";
import type { Store } from "./store.ts";

/** A stored object whose role the webhook records in annotations, such as an ACK resource. */
export interface AnnotatedObject extends RoleObject {
  readonly deleting: boolean;
  /** Null for an object in a manifest. */
  readonly uid: string | null;
  readonly resourceVersion: string | null;
}

/** A store of annotated objects. */
export interface AnnotatedStore<T extends AnnotatedObject = AnnotatedObject> extends Store {
  all(): Iterable<T>;
  /** Returns the object that has the key of `annotatedKey`, or null if no such object exists. */
  withKey(key: string): T | null;
}

/** Returns a text that identifies an object in the inventory: its group, kind, namespace and name. */
export function annotatedKey(
  { group, kind, namespace, name }: Pick<AnnotatedObject, "group" | "kind" | "namespace" | "name">,
): string {
  return `${group}/${kind}/${namespace}/${name ?? ""}`;
}
