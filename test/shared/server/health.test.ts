import { test } from "tap";
import { type Readiness, startHealthServer } from "../../../shared/server/health.ts";
import { createRegistry } from "../../../shared/server/metrics.ts";
import { VERSION } from "../../../shared/core/installation.ts";

const ready: Readiness = { ready: true, reasons: [], warnings: [] };

test("serves liveness, startup, readiness and metrics independently", async (t) => {
  let started = false;
  const reasons = ["the inventory is not loaded yet", "the certificate expired"];
  let now: Readiness = { ready: false, reasons, warnings: ["not shown"] };
  const registry = createRegistry({ component: "webhook" });
  const health = await startHealthServer({ listen: "127.0.0.1:0", ready: () => now, started: () => started, registry });
  t.teardown(() => health.close());
  const get = async (path: string, method = "GET"): Promise<[number, string]> => {
    const response = await fetch(`http://${health.address}${path}`, { method });
    return [response.status, await response.text()];
  };

  t.same(await get("/healthz"), [200, "ok\n"], "liveness does not depend on readiness");
  t.same(await get("/readyz"), [503, "the inventory is not loaded yet\nthe certificate expired\n"]);
  now = ready;
  t.same(await get("/readyz?verbose"), [200, "ok\n"]);
  now = { ...ready, warnings: ["the inventory is stale", "another warning"] };
  t.same(await get("/readyz"), [200, "ok\nthe inventory is stale\nanother warning\n"]);
  t.same(await get("/startupz"), [503, "not started yet\n"], "startup does not depend on readiness");
  started = true;
  t.same(await get("/startupz"), [200, "ok\n"]);
  started = false;
  t.same(await get("/startupz"), [200, "ok\n"], "startup still succeeds if readiness fails later");
  const [status, metrics] = await get("/metrics");
  t.equal(status, 200);
  t.match(
    metrics,
    `ack_role_resolver_build_info{component="webhook",version="${VERSION}",node="${process.version}"} 1`,
  );
  t.match(metrics, "nodejs_eventloop_lag_seconds");
  t.same(await get("/healthz", "HEAD"), [200, ""]);
  t.same(await get("/healthz", "POST"), [405, "only GET and HEAD are supported\n"]);
  t.equal((await get("/__proto__"))[0], 404);
  t.same(await get("/healthz/x"), [404, "not found; the valid paths are /healthz, /startupz, /readyz, /metrics\n"]);
});

test("returns 500 if the metrics cannot be collected, and continues to serve requests", async (t) => {
  const registry = createRegistry({ component: "webhook" });
  registry.metrics = () => Promise.reject(new Error("boom"));
  const health = await startHealthServer({ listen: "[::1]:0", ready: () => ready, started: () => true, registry });
  t.teardown(() => health.close());
  const metrics = await fetch(`http://${health.address}/metrics`);
  t.equal(metrics.status, 500);
  t.equal(await metrics.text(), "metrics collection failed\n");
  t.equal((await fetch(`http://${health.address}/healthz`)).status, 200);
});

test("rejects a --health-listen port that is in use", async (t) => {
  const registry = createRegistry({ component: "webhook" });
  const first = await startHealthServer({ listen: "127.0.0.1:0", ready: () => ready, started: () => true, registry });
  t.teardown(() => first.close());
  await t.rejects(startHealthServer({ listen: first.address, ready: () => ready, started: () => true, registry }), {
    code: "ERR_CONFIG_PORT_IN_USE",
    message: new RegExp(`^--health-listen ${first.address}: the port is in use`),
  });
});
