import { isChecked, runChecks } from "../../shared/judges.ts";
import type { Finding } from "../../shared/core/check.ts";
import { isKindDefinition } from "../../shared/core/ack-groups.ts";
import type { DecisionSettings } from "../../shared/core/context.ts";
import { moveEdits } from "../../shared/core/repair.ts";
import { type Contained, containedObjects } from "../../shared/files/contained.ts";
import { inventoryOf, type State, type StateObject } from "./state.ts";

/** A template of an object in another object of the input. */
export interface Template extends Contained {
  readonly container: StateObject;
}

/** Returns the templates that have checks, in input order. */
export function templatesIn({ objects, inventory }: Pick<State, "objects" | "inventory">): Template[] {
  return objects.flatMap((container) => (
    containedObjects(container.object)
      .filter(({ object }) => isChecked(object, inventory))
      .map((contained) => ({ ...contained, container }))
  ));
}

/** An object that has checks, or a template that has checks in an object. */
export interface Judged {
  readonly found: StateObject;
  readonly template: Template | null;
}

/** Returns what `lint` and `audit` judge: the objects in input order, and then the templates. */
export function judgedIn({ objects, inventory }: Pick<State, "objects" | "inventory">): Judged[] {
  return [
    ...objects.filter(({ object }) => isChecked(object, inventory)).map((found) => ({ found, template: null })),
    ...templatesIn({ objects, inventory }).map((template) => ({ found: template.container, template })),
  ];
}

/** Returns the number of objects and templates. Those outside all roots are the same in each root, and count once. */
export function countJudged(judged: readonly Judged[]): number {
  return new Set(judged.map(({ found, template }) => (template ?? found).object)).size;
}

/** Returns the objects that are judged themselves or contain a judged template, once. */
export function judgedObjects(judged: readonly Judged[]): StateObject[] {
  return [...new Set(judged.map(({ found }) => found))];
}

/**
 * Returns a function that checks a template. Its findings have paths in the container. A template is judged alone: the
 * name, the namespace and the number of its objects are open, so it is compared with no other object, and only the
 * kinds of the input are known.
 */
export function templateChecker(
  { objects, origin }: State, settings: DecisionSettings,
): (template: Template) => readonly Finding[] {
  const kinds = objects.map(({ object }) => object).filter(isKindDefinition);
  const inventory = inventoryOf(kinds, { runtime: settings.runtime, origin });
  const ofTemplates = { ...settings, isInputComplete: false };
  return (template) => {
    const input = { object: template.object, old: null, requester: null, origin, inventory, template };
    const { findings } = runChecks(input, ofTemplates);
    return findings.map((finding) => ({
      ...finding,
      path: [...template.path, ...finding.path],
      ...(finding.repairs !== undefined && {
        repairs: moveEdits(finding.repairs, (path) => [...template.path, ...path]),
      }),
    }));
  };
}
