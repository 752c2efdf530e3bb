import type { KnownFields } from "../../../shared/core/shape.ts";
import { ACK_FIELDS } from "../../../shared/core/iamroleselector.ts";
import { Registry } from "prom-client";
import { test } from "tap";
import { registerInventoryMetrics, registerKindMetrics } from "../../../shared/server/metrics.ts";

async function values(registry: Registry): Promise<string[]> {
  return (await registry.metrics()).split("\n").filter((line) => line.startsWith("ack_"));
}

test("reads the inventory at each scrape, and omits the age of an unloaded inventory", async (t) => {
  const registry = new Registry();
  const selectors = { size: 2, malformed: { size: 1 } };
  const status = { loaded: false, lastSyncMs: null as number | null, fault: "unreachable" as string | null };
  const source = { status };
  registerInventoryMetrics(registry, { source, selectors: () => selectors, steadyMs: () => 3_500 });
  t.same(await values(registry), [
    "ack_role_resolver_inventory_loaded 0",
    "ack_role_resolver_inventory_faulty 1",
    "ack_role_resolver_inventory_selectors 2",
    "ack_role_resolver_inventory_malformed_selectors 1",
  ]);
  source.status = { loaded: true, lastSyncMs: 1_000, fault: null };
  selectors.size = 3;
  t.same(await values(registry), [
    "ack_role_resolver_inventory_loaded 1",
    "ack_role_resolver_inventory_faulty 0",
    "ack_role_resolver_inventory_age_seconds 2.5",
    "ack_role_resolver_inventory_selectors 3",
    "ack_role_resolver_inventory_malformed_selectors 1",
  ]);
  source.status = { loaded: false, lastSyncMs: null, fault: null };
  t.notMatch((await values(registry)).join(), "age_seconds", "the age is absent while the inventory is unloaded");
});

test("counts unlisted kinds and the unknown groups that are not in --extra-groups", async (t) => {
  const registry = new Registry();
  const groups = new Set(["s3.services.k8s.aws", "extra.services.k8s.aws", "services.k8s.aws"]);
  let unlistedKinds = 0;
  const kinds: { groups: Set<string>; selectorFields: KnownFields | null } = { groups, selectorFields: null };
  const source = { inventory: { kinds } };
  registerKindMetrics(registry, { source, unlistedKinds: () => unlistedKinds }, ["extra.services.k8s.aws"]);
  t.same(await values(registry), ["ack_role_resolver_unknown_ack_groups 0", "ack_role_resolver_unlisted_ack_kinds 0"]);
  groups.add("new.services.k8s.aws");
  unlistedKinds = 2;
  t.same(await values(registry), ["ack_role_resolver_unknown_ack_groups 1", "ack_role_resolver_unlisted_ack_kinds 2"]);
  kinds.selectorFields = ACK_FIELDS;
  t.match((await values(registry)).at(-1), "ack_role_resolver_pruned_selector_fields 3");
});
