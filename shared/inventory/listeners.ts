/** Those who asked to hear of changes. */
export class Listeners {
  readonly #listeners = new Set<() => void>();

  /** The function returned ends it. */
  add(listener: () => void): () => void {
    // Wrapped, so that one function added twice is heard twice and ended once at a time.
    const entry = (): void => listener();
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
