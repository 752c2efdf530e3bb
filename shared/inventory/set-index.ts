
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

/**
 * Groups of values. Each group consists of parts, so that a reader of one group visits each part once, however many
 * values the part has.
 */
export class GroupIndex<Value> {
  readonly #groups = new Map<string, Map<string, Set<Value>>>();

  add(group: string, part: string, value: Value): void {
    const parts = this.#groups.get(group) ?? new Map<string, Set<Value>>();
    const values = parts.get(part) ?? new Set<Value>();
    this.#groups.set(group, parts.set(part, values.add(value)));
  }

  delete(group: string, part: string, value: Value): void {
    const parts = this.#groups.get(group);
    const values = parts?.get(part);
    if (parts === undefined || values?.delete(value) !== true || values.size > 0) return;
    parts.delete(part);
    if (parts.size === 0) this.#groups.delete(group);
  }

  /** Returns the values of the group, by part. */
  get(group: string): ReadonlyMap<string, ReadonlySet<Value>> {
    return this.#groups.get(group) ?? NO_PARTS;
  }
}

const NO_PARTS: ReadonlyMap<string, ReadonlySet<never>> = new Map();
