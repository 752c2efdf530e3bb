import { LIMITS } from "../../core/limits.ts";
import type { ComparedObject } from "../impact.ts";
import { MapTable, namesPerUse, shownText } from "./map-table.ts";

/** What a counter needs to know. */
interface Counting<Rest> {
  /** Returns the index of the namespace, or null if the map does not show it. */
  readonly namespace: (name: string) => number | null;
  readonly kinds: MapTable<string>;
  /** Returns the rest without its details, of which there are only a few. */
  readonly withoutDetails: (rest: Rest) => Rest;
}

interface Counted<Rest> {
  readonly namespace: number;
  readonly kind: number;
  readonly rest: Rest;
  count: number;
  readonly names: string[];
}

/** Counts resources that are equal in their namespace, their kind and in `Rest`, and keeps their first names. */
export class UseCounter<Rest extends readonly (string | number)[]> {
  readonly #counting: Counting<Rest>;
  readonly #counted = new Map<string, Counted<Rest>>();
  readonly #perNamespace = new Map<number, number>();
  /** The resources of namespaces that the map does not show. */
  omitted = 0;
  /** The resources of which the map tells only the rest without its details, because their namespace has too many. */
  withoutDetails = 0;
  /** The resources whose names `uses` left out. */
  unnamed = 0;

  constructor(counting: Counting<Rest>) {
    this.#counting = counting;
  }

  add({ namespace, kind, group, name }: ComparedObject, rest: Rest): void {
    const index = this.#counting.namespace(namespace);
    if (index === null) {
      this.omitted++;
      return;
    }
    const counted = this.#find(index, `${kind}.${group}`, rest);
    counted.count++;
    if (counted.names.length < MAX_NAMES) counted.names.push(name === null ? "(no name)" : shownText(name));
  }

  #find(namespace: number, kindName: string, rest: Rest): Counted<Rest> {
    const key = JSON.stringify([namespace, kindName, ...rest]);
    const found = this.#counted.get(key);
    if (found !== undefined) return found;
    const uses = this.#perNamespace.get(namespace) ?? 0;
    if (uses >= LIMITS.mapUses.value) {
      this.withoutDetails++;
      const short = this.#counting.withoutDetails(rest);
      return this.#insert(JSON.stringify([namespace, null, ...short]), { namespace, kind: -1, rest: short });
    }
    this.#perNamespace.set(namespace, uses + 1);
    const name = shownText(kindName);
    return this.#insert(key, { namespace, kind: this.#counting.kinds.addAlways(name, () => name), rest });
  }

  #insert(key: string, use: Pick<Counted<Rest>, "namespace" | "kind" | "rest">): Counted<Rest> {
    const counted = this.#counted.get(key) ?? { ...use, count: 0, names: [] };
    this.#counted.set(key, counted);
    return counted;
  }

  /** Returns each namespace, kind and rest with the number of its resources and their first names. */
  uses(): (readonly [namespace: number, kind: number, ...rest: Rest, count: number, names: readonly string[]])[] {
    const all = [...this.#counted.values()];
    const most = namesPerUse(all.map(({ count }) => count), LIMITS.mapNames.value);
    return all.map(({ namespace, kind, rest, count, names }) => {
      const shown = names.slice(0, most);
      this.unnamed += count - shown.length;
      return [namespace, kind, ...rest, count, shown];
    });
  }
}

const MAX_NAMES = 50;
