import { Registry } from "prom-client";
import { test } from "tap";
import { ResponseMetrics } from "../../../shared/server/response-metrics.ts";

test("counts each response once, and its duration", async (t) => {
  const registry = new Registry();
  const help = { requests: "Responses.", duration: "Duration." };
  const metrics = new ResponseMetrics(registry, { prefix: "x_", labelNames: ["code"], help, buckets: [1] });
  for (let i = 0; i < 600; i++) metrics.observe({ path: "/a", code: i < 500 ? 200 : 401 }, i % 2);
  metrics.observe({ path: "unparsed", code: 400 }, null);
  for (let scrapes = 0; scrapes < 2; scrapes++) {
    const text = await registry.metrics();
    for (const line of [
      'x_requests_total{path="/a",code="200"} 500', 'x_requests_total{path="/a",code="401"} 100',
      'x_requests_total{path="unparsed",code="400"} 1', 'x_request_duration_seconds_count{path="/a"} 600',
      'x_request_duration_seconds_sum{path="/a"} 300',
    ]) t.ok(text.split("\n").includes(line), line);
    t.notMatch(text, 'request_duration_seconds_count{path="unparsed"}');
  }
});
