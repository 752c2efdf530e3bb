import { definedKind, isACKGroup, SELECTOR_GROUP, SELECTOR_KIND } from "../core/ack-groups.ts";
import { type Controllers, controllersOfGroup } from "../controllers/controller-deployment.ts";
import type { JsonObject } from "../formats/json.ts";
import { objectReference } from "../formats/object-meta.ts";
import { type Located, ObjectsByName } from "./object-changes.ts";

/** Finds the objects that decide about resources. Indexes the objects once. */
export class RelatedObjects<T extends Located> extends ObjectsByName<T> {
  /** By `KIND/NAME`, without their groups and namespaces. */
  readonly #byKind: ReadonlyMap<string, readonly T[]>;
  /** The CustomResourceDefinitions, by `GROUP/KIND`. */
  readonly #definitions: ReadonlyMap<string, readonly T[]>;
  readonly #controllers: Controllers;
  constructor(objects: readonly T[], controllers: Controllers) {
    super(objects);
    this.#byKind = Map.groupBy(objects, ({ object }) => {
      const { kind, name } = objectReference(object);
      return `${kind}/${name}`;
    });
    const definitions = objects.filter(({ object }) => objectReference(object).kind === "CustomResourceDefinition");
    this.#definitions = Map.groupBy(definitions, ({ object }) => keyOf(definedKind(object)));
    this.#controllers = controllers;
  }

  named(kind: string, names: readonly string[]): readonly T[] {
    return names.flatMap((name) => this.#byKind.get(`${kind}/${name}`) ?? []);
  }

  /** Returns the Deployments of the resource's controllers, and the definitions of its kind and of IAMRoleSelector. */
  ofControllers(resource: JsonObject): readonly T[] {
    const { group, kind } = objectReference(resource);
    const selectors = isACKGroup(group) ? [{ group: SELECTOR_GROUP, kind: SELECTOR_KIND }] : [];
    return [
      ...controllersOfGroup(this.#controllers, group).controllers.flatMap(({ name }) => this.#deployment(name)),
      ...[{ group, kind }, ...selectors].flatMap((one) => this.#definitions.get(keyOf(one)) ?? []),
    ];
  }

  /** Returns the Deployment with the name `NAMESPACE/NAME`. */
  #deployment(fullName: string): readonly T[] {
    const [namespace = "", name = ""] = fullName.split("/");
    return this.named("Deployment", [name]).filter(({ object }) => objectReference(object).namespace === namespace);
  }
}

function keyOf({ group, kind }: { readonly group: string; readonly kind: string }): string {
  return `${group}/${kind}`;
}
