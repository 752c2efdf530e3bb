import { INVENTORY_KINDS } from "../../shared/kinds.ts";
import { test } from "tap";
import type { Closures } from "../../shared/core/closures.ts";
import { Inventory } from "../../shared/core/inventory.ts";
import { deny, type Grant } from "../../shared/core/grant.ts";
import { InventoryMemo } from "../../sidecar/inventory-memo.ts";
import { namespaceObject, NOTHING_CLOSED, put } from "../shared/objects.ts";

function newInventory(): Inventory {
  return new Inventory({ runtime: "ack", origin: "cluster" }, INVENTORY_KINDS);
}

interface Subject {
  readonly decisions: string[];
  readonly source: { inventory: Inventory };
  readonly profile: { closures: Closures };
  readonly of: (key: string) => Grant;
}

function subject(): Subject {
  const [decisions, source, profile] = [[] as string[], { inventory: newInventory() }, { closures: NOTHING_CLOSED }];
  const memo = new InventoryMemo<Grant>(source, profile);
  const of = (key: string): Grant => memo.of(key, () => {
    decisions.push(key.slice(0, 10));
    return deny("ERR_SELECTOR_UNKNOWN", key);
  });
  return { decisions, source, profile, of };
}

test("makes a value once until the inventory changes, and returns the same object", (t) => {
  const { decisions, source, profile, of } = subject();
  t.equal(of("a"), of("a"));
  t.match(of("b"), { message: "b" });
  t.same(decisions, ["a", "b"]);
  source.inventory.apply([put(namespaceObject("team-a"))]);
  of("a");
  t.same(decisions, ["a", "b", "a"]);
  source.inventory = newInventory();
  source.inventory.apply([put(namespaceObject("team-a"))]);
  of("a");
  t.same(decisions, ["a", "b", "a", "a"], "a file source replaces the inventory");
  profile.closures = { base: true, unmatched: true };
  of("a");
  t.same(decisions, ["a", "b", "a", "a", "a"], "the profile decides about some grants");
  t.end();
});

test("does not remember a value whose key is long", (t) => {
  const { decisions, of } = subject();
  for (let i = 0; i < 2; i++) of("x".repeat(513));
  t.equal(decisions.length, 2);
  t.end();
});
