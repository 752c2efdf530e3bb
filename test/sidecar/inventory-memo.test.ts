import { test } from "tap";
import { judgeSelector } from "../../shared/checks/judge-selector.ts";
import { Inventory } from "../../shared/inventory/inventory.ts";
import { deny, type Grant } from "../../shared/resolution/grant.ts";
import { InventoryMemo } from "../../sidecar/inventory-memo.ts";
import { namespaceObject, put } from "../shared/objects.ts";

function newInventory(): Inventory {
  return new Inventory({ runtime: "ack", origin: "cluster" }, judgeSelector);
}

interface Subject {
  readonly decisions: string[];
  readonly source: { inventory: Inventory };
  readonly of: (key: string) => Grant;
}

function subject(): Subject {
  const [decisions, source] = [[] as string[], { inventory: newInventory() }];
  const memo = new InventoryMemo<Grant>(source);
  const of = (key: string): Grant => memo.of(key, () => {
    decisions.push(key.slice(0, 10));
    return deny("ERR_SELECTOR_UNKNOWN", key);
  });
  return { decisions, source, of };
}

test("makes a value once until the inventory changes, and returns the same object", (t) => {
  const { decisions, source, of } = subject();
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
  t.end();
});

test("does not remember a value whose key is long", (t) => {
  const { decisions, of } = subject();
  for (let i = 0; i < 2; i++) of("x".repeat(513));
  t.equal(decisions.length, 2);
  t.end();
});
