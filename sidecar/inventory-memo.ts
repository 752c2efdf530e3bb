import type { Closures } from "../shared/core/closures.ts";
import type { Inventory } from "../shared/core/inventory.ts";
import { BoundedMap } from "../shared/server/bounded-map.ts";
import type { LiveClosures } from "./installed-profile.ts";

/** The maximum number of remembered values, and of the characters in the key of each. */
const LIMIT = { values: 2_000, key: 512 } as const;

/**
 * Remembers what was made from the inventory until the inventory changes, or what the sidecar closes. A repeated
 * request then gets the same grant object, so that its callers can remember more with it.
 */
export class InventoryMemo<Value extends object> {
  readonly #source: { readonly inventory: Inventory };
  readonly #profile: Pick<LiveClosures, "closures">;
  readonly #values = new BoundedMap<string, Value>(LIMIT.values);
  #inventory: Inventory | null = null;
  #revision = 0;
  #closures: Closures | null = null;

  constructor(source: { readonly inventory: Inventory }, profile: Pick<LiveClosures, "closures">) {
    [this.#source, this.#profile] = [source, profile];
  }

  /** Returns the remembered value. */
  get(key: string): Value | undefined {
    const [{ inventory }, { closures }] = [this.#source, this.#profile];
    const { revision } = inventory;
    const isSame = inventory === this.#inventory && revision === this.#revision && closures === this.#closures;
    if (isSame) return this.#values.get(key);
    this.#values.clear();
    [this.#inventory, this.#revision, this.#closures] = [inventory, revision, closures];
    return undefined;
  }

  /** Returns the remembered value, or makes it. `key` must identify what `make` reads besides the inventory. */
  of(key: string, make: (inventory: Inventory) => Value): Value {
    const known = this.get(key);
    if (known !== undefined) return known;
    const value = make(this.#source.inventory);
    if (key.length <= LIMIT.key) this.#values.set(key, value);
    return value;
  }
}
