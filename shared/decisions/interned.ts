/** More than a large cluster has, and few enough to be forgotten together when there are more. */
const MOST = 65_536;

/**
 * Gives equal texts and equal maps as one. `JSON.parse` makes each anew, and the same labels, roles and regions stand in thousands of objects.
 */
export class Interned {
  readonly #texts = new Map<string, string>();
  readonly #maps = new Map<string, ReadonlyMap<string, string>>();

  text(value: string): string {
    return one(this.#texts, value, () => value);
  }

  map(value: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
    return one(this.#maps, JSON.stringify([...value]), () => new Map(Array.from(value, ([key, text]) => [this.text(key), this.text(text)])));
  }
}

function one<Value>(known: Map<string, Value>, key: string, make: () => Value): Value {
  const found = known.get(key);
  if (found !== undefined) return found;
  if (known.size === MOST) known.clear();
  const made = make();
  known.set(key, made);
  return made;
}
