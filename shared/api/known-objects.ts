import { isNewer, keyOf, nameOf, type ObjectName, type StoredObject } from "./watched-kind.ts";

type OnObjects = (put: readonly StoredObject[], removed: readonly ObjectName[]) => void;

/**
 * The resource versions of the objects that a handler has received. An object can be accepted from another source than
 * the watch, and the watch can then deliver older versions of it, which are ignored.
 */
export class KnownObjects {
  readonly #onObjects: OnObjects;
  #versions = new Map<string, string>();
  /** The versions of the accepted objects, until the watch delivers them. */
  readonly #accepted = new Map<string, string>();

  constructor(onObjects: OnObjects) {
    this.#onObjects = onObjects;
  }

  get names(): readonly ObjectName[] {
    return Array.from(this.#versions.keys(), nameOf);
  }

  /** Replaces all objects by those of a list. Passes only the differences to the handler. */
  replace(objects: readonly StoredObject[]): void {
    const listed = new Map(objects.map((object) => [keyOf(object), object.resourceVersion]));
    const put = objects.filter((object) => this.#versions.get(keyOf(object)) !== object.resourceVersion);
    const removed = [...this.#versions.keys()].filter((key) => !listed.has(key)).map(nameOf);
    this.#onObjects(put, removed);
    this.#versions = listed;
    this.#accepted.clear();
  }

  /** Passes an object of the watch to the handler. */
  put(object: StoredObject): void {
    if (this.#reaches(keyOf(object), object.resourceVersion)) this.#put(object);
  }

  /** Removes an object that was deleted at `resourceVersion` from the handler. */
  remove(object: ObjectName, resourceVersion: string): void {
    const key = keyOf(object);
    if (this.#reaches(key, resourceVersion) && this.#versions.delete(key)) this.#onObjects([], [object]);
  }

  /**
   * Passes an object that was read from the API server to the handler, unless it has this version or a newer one. An
   * object that the watch, which is at `position`, must have delivered and the handler does not have is deleted.
   * Returns whether the handler has this version now.
   */
  accept(object: StoredObject, position: string): boolean {
    const [key, version] = [keyOf(object), object.resourceVersion];
    const known = this.#versions.get(key) ?? null;
    if (isNewer(version, known ?? position)) {
      this.#put(object);
      this.#accepted.set(key, version);
    }
    return this.#versions.get(key) === version;
  }

  #put(object: StoredObject): void {
    this.#onObjects([object], []);
    this.#versions.set(keyOf(object), object.resourceVersion);
  }

  /** Whether the watch has reached the accepted version of the object, if there is one. */
  #reaches(key: string, version: string): boolean {
    if (isNewer(this.#accepted.get(key) ?? null, version)) return false;
    this.#accepted.delete(key);
    return true;
  }
}
