/** A set of change listeners. */
export class Listeners {
  readonly #listeners = new Set<() => void>();

  /** Returns a function that removes the listener. */
  add(listener: () => void): () => void {
    // Wraps the listener in a new function. A listener that is added twice is then called twice, and each addition can
    // be removed separately.
    const entry = (): void => listener();
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
