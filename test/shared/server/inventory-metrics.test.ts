import { Registry } from "prom-client";
import { test } from "tap";
import { registerInventoryMetrics } from "../../../shared/server/inventory-metrics.ts";

test("the gauges are read at each scrape; what was never loaded has no age", async (t) => {
  const registry = new Registry();
  const inventory = { selectors: { size: 2 }, malformed: { size: 1 } };
  const source = { inventory, status: { loaded: false, lastSyncMs: null as number | null, fault: "unreachable" as string | null } };
  registerInventoryMetrics(registry, source, () => 3_500);
  const values = async (): Promise<string[]> => (await registry.metrics()).split("\n").filter((line) => line.startsWith("ack_"));
  t.same(await values(), [
    "ack_role_resolver_inventory_loaded 0",
    "ack_role_resolver_inventory_faulty 1",
    "ack_role_resolver_inventory_selectors 2",
    "ack_role_resolver_inventory_malformed_selectors 1",
  ]);
  source.status = { loaded: true, lastSyncMs: 1_000, fault: null };
  inventory.selectors.size = 3;
  t.same(await values(), [
    "ack_role_resolver_inventory_loaded 1",
    "ack_role_resolver_inventory_faulty 0",
    "ack_role_resolver_inventory_age_seconds 2.5",
    "ack_role_resolver_inventory_selectors 3",
    "ack_role_resolver_inventory_malformed_selectors 1",
  ]);
  source.status = { loaded: false, lastSyncMs: null, fault: null };
  t.notMatch((await values()).join(), "age_seconds", "and none again");
});
