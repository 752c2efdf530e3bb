import type { Inventory } from "../shared/inventory/inventory.ts";
import { BoundedMap } from "../shared/server/bounded-map.ts";

/** The maximum number of remembered values, and of the characters in the key of each. */
const LIMIT = { values: 2_000, key: 512 } as const;

/**
 * Remembers what was made from the inventory until the inventory changes. A repeated request then gets the same grant
 * object, so that its callers can remember more with it.
 */
export class InventoryMemo<Value extends object> {
  readonly #source: { readonly inventory: Inventory };
  readonly #values = new BoundedMap<string, Value>(LIMIT.values);
  #inventory: Inventory | null = null;
  #revision = 0;

  constructor(source: { readonly inventory: Inventory }) {
    this.#source = source;
  }

  /** Returns the remembered value. */
  get(key: string): Value | undefined {
    const { inventory } = this.#source;
    if (inventory === this.#inventory && inventory.revision === this.#revision) return this.#values.get(key);
    this.#values.clear();
    [this.#inventory, this.#revision] = [inventory, inventory.revision];
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
