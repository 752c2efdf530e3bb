import { test } from "tap";
import { createRegistry } from "../../shared/server/metrics.ts";
import { createSidecarMetrics } from "../../sidecar/metrics.ts";

test("initializes the metric series that alerts use to 0", async (t) => {
  const registry = createRegistry({ component: "sidecar" });
  createSidecarMetrics(registry);
  const lines = (await registry.metrics()).split("\n");
  for (const series of [
    'token_reloads_total{result="failed"}',
    'auth_failures_total{kind="token"}',
    'auth_failures_total{kind="signature"}',
    'auth_failures_total{kind="host"}',
    'sts_calls_total{action="AssumeRole",code="AccessDenied"}',
    "account_refusals_total",
  ])
    t.ok(lines.includes(`ack_role_resolver_sidecar_${series} 0`), series);
});
