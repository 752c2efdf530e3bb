import type { State, StateObject } from "../input/state.ts";
import type { Paint } from "./terminal.ts";

/** What a command found in one root. */
interface OfRoot<Item> {
  readonly root: string | null;
  readonly items: readonly Item[];
}

/** The root of an item. Missing if all objects are one cluster; null if the item is the same in each root. */
interface InRoot {
  readonly root?: string | null;
}

/** Returns the items of all roots, each with its root. Items that are equal in each root are returned once. */
export function mergeRoots<Item extends object>(all: readonly OfRoot<Item>[]): (Item & InRoot)[] {
  if (all.every(({ root }) => root === null)) return all.flatMap(({ items }) => items);
  const byText = new Map<string, (Item & InRoot)[]>();
  for (const { root, items } of all) {
    for (const [text, item] of new Map(items.map((one) => [JSON.stringify(one), one]))) {
      const others = byText.get(text);
      if (others === undefined) byText.set(text, [{ ...item, root }]);
      else others.push({ ...item, root });
    }
  }
  return [...byText.values()].flatMap((items) => {
    const [first] = items;
    return first !== undefined && all.length > 1 && items.length === all.length ? [{ ...first, root: null }] : items;
  });
}

/** Returns the title of a root in text output; [] if all objects are one cluster. */
export function rootTitle({ root }: Pick<State, "root">, paint: Paint): string[] {
  return root === null ? [] : [paint("bold", `Root ${root}`)];
}

/** Returns the objects of all roots once. */
export function distinctObjects(states: readonly Pick<State, "objects">[]): StateObject[] {
  return [...new Set(states.flatMap(({ objects }) => objects))];
}

/** Returns a state that contains the objects of all roots, and the inventory of one of them. */
export function unionOf(states: readonly [State, ...State[]]): Pick<State, "objects" | "inventory"> {
  return { objects: distinctObjects(states), inventory: states[0].inventory };
}
