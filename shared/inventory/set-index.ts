
/** A map from keys to sets of values. A key without values uses no memory. */
export class SetIndex<Value> {
  readonly #sets = new Map<string, Set<Value>>();

  add(key: string, value: Value): void {
    const set = this.#sets.get(key);
    if (set === undefined) this.#sets.set(key, new Set([value]));
    else set.add(value);
  }

  delete(key: string, value: Value): void {
    const set = this.#sets.get(key);
    if (set?.delete(value) === true && set.size === 0) this.#sets.delete(key);
  }

  get(key: string): ReadonlySet<Value> {
    return this.#sets.get(key) ?? NOTHING;
  }

  get size(): number {
    return this.#sets.size;
  }

  keys(): Iterable<string> {
    return this.#sets.keys();
  }

  sets(): Iterable<ReadonlySet<Value>> {
    return this.#sets.values();
  }
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
export class GroupIndex<Value> {
  readonly #groups = new Map<string, SetIndex<Value>>();

  add(group: string, key: string, value: Value): void {
    const index = this.#groups.get(group) ?? new SetIndex<Value>();
    index.add(key, value);
    this.#groups.set(group, index);
  }

  delete(group: string, key: string, value: Value): void {
    const index = this.#groups.get(group);
    index?.delete(key, value);
    if (index?.size === 0) this.#groups.delete(group);
  }

  get(group: string): Pick<SetIndex<Value>, "get" | "keys" | "sets" | "size"> {
    return this.#groups.get(group) ?? NO_KEYS;
  }
}

const NO_KEYS = new SetIndex<never>();
