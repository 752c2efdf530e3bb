/** Which values stand under which key. A key without values takes no memory. */
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

/** A label as the key of an index. */
export function labelKey(key: string, value: string): string {
  return `${key}=${value}`;
}
