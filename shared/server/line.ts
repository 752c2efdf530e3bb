/** Keys with values, of which the one that was added first is taken first. All methods take constant time. */
export class Line<T> {
  readonly #values = new Map<string, T>();
  /**
   * Continues where the last key was taken. An iterator that starts again visits the gaps of all deleted keys, so to
   * take every key would take quadratic time.
   */
  #order = this.#values.entries();

  get size(): number {
    return this.#values.size;
  }

  add(key: string, value: T): void {
    this.#values.set(key, value);
  }

  /** Removes and returns the first key and its value; null if there is none. */
  take(): readonly [key: string, value: T] | null {
    let next = this.#order.next();
    if (next.done === true) {
      this.#order = this.#values.entries();
      next = this.#order.next();
    }
    if (next.done === true) return null;
    this.#values.delete(next.value[0]);
    return next.value;
  }

  clear(): void {
    this.#values.clear();
  }
}
