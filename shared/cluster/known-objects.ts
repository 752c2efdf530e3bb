import type { ReflectorHandler } from "./reflector.ts";
import { isNewer, keyOf, nameOf, type ObjectName, type StoredObject } from "./watched-kind.ts";

/**
 * The resource versions of the objects that a handler has received. An object can be accepted from another source than
 * the watch, so the watch can deliver versions that are older than what the handler has. They are ignored.
 */
export class KnownObjects {
  readonly #handler: Pick<ReflectorHandler, "onObjects">;
  #versions = new Map<string, string>();

  constructor(handler: Pick<ReflectorHandler, "onObjects">) {
    this.#handler = handler;
  }

  get names(): readonly ObjectName[] {
    return Array.from(this.#versions.keys(), nameOf);
  }

  /** Replaces all objects by those of a list. Passes only the differences to the handler. */
  replace(objects: readonly StoredObject[]): void {
    const listed = new Map(objects.map((object) => [keyOf(object), object.resourceVersion]));
    const put = objects.filter((object) => this.#versions.get(keyOf(object)) !== object.resourceVersion);
    const removed = [...this.#versions.keys()].filter((key) => !listed.has(key)).map(nameOf);
    this.#handler.onObjects(put, removed);
    this.#versions = listed;
  }

  /** Passes the object to the handler, unless it has a newer version. An event can repeat a version. */
  put(object: StoredObject): void {
    if (this.#hasNewer(object, object.resourceVersion)) return;
    this.#handler.onObjects([object], []);
    this.#versions.set(keyOf(object), object.resourceVersion);
  }

  /** Passes an object that was read from the API server to the handler, unless it has this version or a newer one. */
  accept(object: StoredObject): void {
    if (this.#versions.get(keyOf(object)) !== object.resourceVersion) this.put(object);
  }

  /** Removes an object that was deleted at `resourceVersion`, unless a newer object has its name. */
  remove(object: ObjectName, resourceVersion: string): void {
    if (this.#hasNewer(object, resourceVersion) || !this.#versions.delete(keyOf(object))) return;
    this.#handler.onObjects([], [object]);
  }

  #hasNewer(object: ObjectName, resourceVersion: string): boolean {
    return isNewer(this.#versions.get(keyOf(object)) ?? null, resourceVersion);
  }
}
