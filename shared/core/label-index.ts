import { NameIndex } from "../formats/nearest.ts";
import { GroupIndex } from "./set-index.ts";

/** What a label that no object has probably means. */
export interface NearLabel {
  /** The key is wrong if no object has a label with it. */
  readonly part: "key" | "value";
  readonly names: readonly string[];
  /** Whether the part is a misspelling of the names. Otherwise, one abbreviates the other. */
  readonly isSure: boolean;
}

/** The names in labels, without the objects that have them. */
export type LabelNames = Pick<LabelIndex<string>, "nearest" | "count">;

/** More keys, or values of a key, identify objects instead of grouping them, so no near one is searched. */
const MAX_NAMES = 2000;
/** More guesses would be no help. */
const MAX_GUESSES = 3;

/** The labels of the objects of a store: which objects have a label, and which label is similar to one. */
export class LabelIndex<Value extends object | string> {
  readonly #objects = new GroupIndex<Value>();
  /** The names that were searched since the last change of the keys, or of the values of the key. */
  #keys: NameIndex | null = null;
  readonly #values = new Map<string, NameIndex>();

  add(key: string, value: string, object: Value): void {
    if (this.#objects.add(key, value, object)) this.#forget(key);
  }

  delete(key: string, value: string, object: Value): void {
    if (this.#objects.delete(key, value, object)) this.#forget(key);
  }

  #forget(key: string): void {
    this.#keys = null;
    this.#values.delete(key);
  }

  /** Returns the objects that have the label. Later changes may be missing in the result. */
  get(key: string, value: string): ReadonlySet<Value> {
    return this.#objects.get(key).get(value);
  }

  /** Returns the number of objects that have the label. */
  count(key: string, value: string): number {
    return this.#objects.get(key).count(value);
  }

  /**
   * Returns the values, or else the keys, that are similar to those of a label that no object has. Pass null to search
   * a key only. Indexes the names at the first call after one was added or removed.
   */
  nearest(key: string, value: string | null): NearLabel {
    const values = this.#objects.get(key);
    if (values.size === 0) return nearIn(this.#keyIndex(), "key", key);
    if (value === null || values.count(value) > 0) return NONE;
    const known = this.#values.get(key) ?? indexOf(values.size, values.keys());
    this.#values.set(key, known);
    return nearIn(known, "value", value);
  }

  #keyIndex(): NameIndex {
    this.#keys ??= indexOf(this.#objects.size, this.#objects.keys());
    return this.#keys;
  }
}

function nearIn(index: NameIndex, part: NearLabel["part"], text: string): NearLabel {
  const { names, isSure } = index.similar(text);
  return { part, names: names.slice(0, MAX_GUESSES), isSure: isSure && names.length <= MAX_GUESSES };
}

function indexOf(size: number, names: Iterable<string>): NameIndex {
  return new NameIndex(size > MAX_NAMES ? [] : names);
}

const NONE: NearLabel = { part: "value", names: [], isSure: true };
