/** A Map of at most `limit` entries. A full map removes its oldest entry. */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #limit: number;

  constructor(limit: number) {
    super();
    this.#limit = limit;
  }

  /** Sets the entry, which becomes the newest one even if the map contains the key. */
  override set(key: K, value: V): this {
    this.delete(key);
    const [oldest] = this.keys();
    if (this.size >= this.#limit && oldest !== undefined) this.delete(oldest);
    return super.set(key, value);
  }
}
