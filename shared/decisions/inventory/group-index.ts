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
