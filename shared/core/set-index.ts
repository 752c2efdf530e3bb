
/**
 * A map from keys to sets of values. A key without values uses no memory, and a key with one value has no set: a set
 * takes 200 bytes, and most keys of an inventory, such as names and roles, have one value.
 */
export class SetIndex<Value extends object | string> {
  readonly #values = new Map<string, Value | Several<Value>>();

  /** Returns whether the key had no value. */
  add(key: string, value: Value): boolean {
    const found = this.#values.get(key);
    if (found === undefined) this.#values.set(key, value);
    else if (found instanceof Several) found.add(value);
    else if (found !== value) this.#values.set(key, new Several([found, value]));
    return found === undefined;
  }

  /** Returns whether the key has lost its last value. */
  delete(key: string, value: Value): boolean {
    const found = this.#values.get(key);
    const isLast = found instanceof Several ? found.delete(value) && found.size === 0 : found === value;
    return isLast && this.#values.delete(key);
  }

  /** Returns the values of the key. Later changes may be missing in the result. */
  get(key: string): ReadonlySet<Value> {
    return setOf(this.#values.get(key));
  }

  /** Returns the number of values of the key. */
  count(key: string): number {
    const found = this.#values.get(key);
    if (found === undefined) return 0;
    return found instanceof Several ? found.size : 1;
  }

  get size(): number {
    return this.#values.size;
  }

  keys(): Iterable<string> {
    return this.#values.keys();
  }

  *sets(): Iterable<ReadonlySet<Value>> {
    for (const found of this.#values.values()) yield setOf(found);
  }
}

/** A set of its own class, which cannot be a value. */
class Several<Value> extends Set<Value> {}

function setOf<Value extends object | string>(found: Value | Several<Value> | undefined): ReadonlySet<Value> {
  if (found === undefined) return NOTHING;
  return found instanceof Several ? found : new Set([found]);
}

const NOTHING: ReadonlySet<never> = new Set<never>();

/** An immutable map that also finds the keys that have a given value. The reverse index is built on first use. */
export class ReversibleMap {
  readonly values: ReadonlyMap<string, string>;
  #keysByValue: SetIndex<string> | null = null;

  constructor(values: ReadonlyMap<string, string>) {
    this.values = values;
  }

  keysOf(value: string): ReadonlySet<string> {
    this.#keysByValue ??= reverse(this.values);
    return this.#keysByValue.get(value);
  }
}

function reverse(values: ReadonlyMap<string, string>): SetIndex<string> {
  const keys = new SetIndex<string>();
  for (const [key, value] of values) keys.add(value, key);
  return keys;
}

/** Returns the index key of a label. */
export function labelKey(key: string, value: string): string {
  return `${key}=${value}`;
}

/** Set indexes by group: a reader of one group visits each of its keys once, however many values the key has. */
export class GroupIndex<Value extends object | string> {
  readonly #groups = new Map<string, SetIndex<Value>>();

  /** Returns whether the key had no value in the group. */
  add(group: string, key: string, value: Value): boolean {
    const index = this.#groups.get(group) ?? new SetIndex<Value>();
    if (index.size === 0) this.#groups.set(group, index);
    return index.add(key, value);
  }

  /** Returns whether the key has lost its last value in the group. */
  delete(group: string, key: string, value: Value): boolean {
    const index = this.#groups.get(group);
    const isLast = index?.delete(key, value) === true;
    if (index?.size === 0) this.#groups.delete(group);
    return isLast;
  }

  get(group: string): Pick<SetIndex<Value>, "get" | "count" | "keys" | "sets" | "size"> {
    return this.#groups.get(group) ?? NO_KEYS;
  }

  /** The number of groups. */
  get size(): number {
    return this.#groups.size;
  }

  /** Returns the groups. */
  keys(): Iterable<string> {
    return this.#groups.keys();
  }
}

const NO_KEYS = new SetIndex<never>();
