import { applyEdits, type Edit, type ObjectName, type Repair } from "../core/repair.ts";
import { type FieldPath, isSame, type JsonObject, valueAt } from "../formats/json.ts";
import { apiVersionOf, namespaceOrDefault, objectReference } from "../formats/object-meta.ts";
import { kindOf } from "../kinds.ts";

/** An object, and what the caller knows of its place. */
export interface Located {
  readonly object: JsonObject;
}

/** A change of one object: all edits of it that belong to a repair. */
export interface ObjectChange<T extends Located> {
  readonly name: ObjectName;
  /** The object as it is; null if the change creates it. */
  readonly found: T | null;
  /** The object after the change; null if the change deletes it. */
  readonly after: JsonObject | null;
  readonly edits: readonly Edit[];
}

/** Returns the name of an object for an edit. */
export function objectNameOf(object: JsonObject): ObjectName {
  const id = objectReference(object);
  const namespace = id.namespace === "" ? null : id.namespace;
  return { apiVersion: apiVersionOf(id), kind: id.kind, namespace, name: id.name };
}

/** Finds objects by their names. Indexes them at the first search. */
export class ObjectsByName<T extends Located> {
  readonly all: readonly T[];
  #byName: ReadonlyMap<string, T> | null = null;

  constructor(objects: readonly T[]) {
    this.all = objects;
  }

  /** Returns the object of this name; null if none exists. */
  find(name: ObjectName): T | null {
    this.#byName ??= new Map(this.all.map((one) => [keyOf(objectNameOf(one.object)), one]));
    return this.#byName.get(keyOf(name)) ?? null;
  }

  /** Returns the changes of a repair by object, in their order. `found` is the object of the finding. */
  changesOf({ edits }: Pick<Repair, "edits">, found: T): readonly ObjectChange<T>[] {
    const own = objectNameOf(found.object);
    const byObject = Map.groupBy(edits, ({ of }) => keyOf(of ?? own));
    return Array.from(byObject, ([key, ofObject]) => {
      const name = ofObject[0]?.of ?? own;
      const changed = key === keyOf(own) ? found : this.find(name);
      return { name, found: changed, after: applyEdits(changed?.object ?? null, ofObject), edits: ofObject };
    });
  }
}

/** Returns the key of an object. The version of its API and the namespace `default` do not distinguish objects. */
function keyOf({ apiVersion, kind, namespace, name }: ObjectName): string {
  return JSON.stringify([apiVersion.replace(/\/?[^/]*$/, ""), kind, namespaceOrDefault(namespace ?? ""), name]);
}

const IDENTITY: readonly FieldPath[] = [["apiVersion"], ["kind"], ["metadata", "name"], ["metadata", "namespace"]];

/** Whether the API server rejects the update of the object, so that another one has to replace it. */
export function isReplacement(old: JsonObject, after: JsonObject): boolean {
  const fixed = [...IDENTITY, ...kindOf(objectReference(old))?.immutable ?? []];
  return fixed.some((path) => valueAt(old, path) !== undefined && !isSame(valueAt(old, path), valueAt(after, path)));
}
