import type { Inventory } from "../shared/inventory/inventory.ts";
import type { Grant } from "../shared/resolution/grant.ts";
import { BoundedMap } from "../shared/server/bounded-map.ts";

/** The maximum number of remembered decisions, and of the characters in the key of each. */
const LIMIT = { decisions: 2_000, key: 512 } as const;

/**
 * Remembers decisions on grants until the inventory changes. A repeated request then gets the same grant object, so
 * that its callers can remember more with it.
 */
export class GrantMemo {
  readonly #source: { readonly inventory: Inventory };
  readonly #grants = new BoundedMap<string, Grant>(LIMIT.decisions);
  #inventory: Inventory | null = null;
  #revision = 0;

  constructor(source: { readonly inventory: Inventory }) {
    this.#source = source;
  }

  /** Returns the decision. `key` must identify what `decide` reads besides the inventory and the options. */
  of(key: string, decide: (inventory: Inventory) => Grant): Grant {
    const { inventory } = this.#source;
    if (inventory !== this.#inventory || inventory.revision !== this.#revision) this.#grants.clear();
    [this.#inventory, this.#revision] = [inventory, inventory.revision];
    const known = this.#grants.get(key);
    if (known !== undefined) return known;
    const grant = decide(inventory);
    if (key.length <= LIMIT.key) this.#grants.set(key, grant);
    return grant;
  }
}
