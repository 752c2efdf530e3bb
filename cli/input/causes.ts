import { definedKind, isACKGroup, SELECTOR_GROUP, SELECTOR_KIND } from "../../shared/core/ack-groups.ts";
import type { JsonObject } from "../../shared/formats/json.ts";
import { objectReference } from "../../shared/formats/object-meta.ts";
import { type Controllers, controllersOfGroup } from "../../shared/controllers/controller-deployment.ts";
import type { State, StateObject } from "./state.ts";

/** The objects whose faults can be why a resource has its role, or why no controller acts on the resource. */
export class Causes {
  /** By `KIND/NAME`. */
  readonly #byName: ReadonlyMap<string, readonly StateObject[]>;
  /** The CustomResourceDefinitions, by `GROUP/KIND`. */
  readonly #definitions: ReadonlyMap<string, readonly StateObject[]>;
  readonly #controllers: Controllers;

  constructor({ objects, controllers }: Pick<State, "objects" | "controllers">) {
    const others = objects.filter(({ object }) => !isACKGroup(objectReference(object).group));
    this.#byName = Map.groupBy(others, ({ object }) => (
      `${objectReference(object).kind}/${objectReference(object).name}`
    ));
    const definitions = others.filter(({ object }) => objectReference(object).kind === "CustomResourceDefinition");
    this.#definitions = Map.groupBy(definitions, ({ object }) => keyOf(definedKind(object)));
    this.#controllers = controllers;
  }

  named(kind: string, names: readonly string[]): readonly StateObject[] {
    return names.flatMap((name) => this.#byName.get(`${kind}/${name}`) ?? []);
  }

  /** Returns the Deployments of the resource's controllers, and the definitions of its kind and of IAMRoleSelector. */
  ofControllers(resource: JsonObject): readonly StateObject[] {
    const { group, kind } = objectReference(resource);
    const selectors = isACKGroup(group) ? [{ group: SELECTOR_GROUP, kind: SELECTOR_KIND }] : [];
    return [
      ...controllersOfGroup(this.#controllers, group).controllers.flatMap(({ name }) => this.#deployment(name)),
      ...[{ group, kind }, ...selectors].flatMap((one) => this.#definitions.get(keyOf(one)) ?? []),
    ];
  }

  /** Returns the Deployment with the name `NAMESPACE/NAME`. */
  #deployment(fullName: string): readonly StateObject[] {
    return this.named("Deployment", [fullName.slice(fullName.indexOf("/") + 1)])
      .filter(({ object }) => `${objectReference(object).namespace}/${objectReference(object).name}` === fullName);
  }
}

function keyOf({ group, kind }: { readonly group: string; readonly kind: string }): string {
  return `${group}/${kind}`;
}
