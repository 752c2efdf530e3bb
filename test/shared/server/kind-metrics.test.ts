import { Registry } from "prom-client";
import { test } from "tap";
import { Listeners } from "../../../shared/inventory/source.ts";
import { registerKindMetrics } from "../../../shared/server/inventory-metrics.ts";

test("groups that nobody knows are counted, and each is logged once", async (t) => {
  const registry = new Registry();
  const listeners = new Listeners();
  const logged: unknown[] = [];
  const groups = new Set(["s3.services.k8s.aws", "extra.services.k8s.aws", "services.k8s.aws"]);
  const unlisted = { size: 0 };
  const source = { inventory: { groups, unlisted: () => unlisted }, onChange: (listener: () => void) => listeners.add(listener) };
  registerKindMetrics(source, { registry, log: { warn: (...line: unknown[]) => void logged.push(line) }, extraGroups: ["extra.services.k8s.aws"] });
  const values = async (): Promise<string[]> => (await registry.metrics()).split("\n").filter((line) => line.startsWith("ack_"));
  listeners.notify();
  t.same(await values(), ["ack_role_resolver_unknown_ack_groups 0", "ack_role_resolver_unlisted_ack_kinds 0"]);
  t.same(logged, []);

  groups.add("new.services.k8s.aws");
  unlisted.size = 2;
  listeners.notify();
  listeners.notify();
  t.same(await values(), ["ack_role_resolver_unknown_ack_groups 1", "ack_role_resolver_unlisted_ack_kinds 2"]);
  t.same(logged, [[
    { group: "new.services.k8s.aws" },
    "an ACK API group is installed that this release does not know: its resources are not judged, and may not be read. "
      + "Render the manifests and start the webhook with --extra-groups of that group, or take a newer release",
  ]]);
});
