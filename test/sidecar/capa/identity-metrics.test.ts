import { Registry } from "prom-client";
import { test } from "tap";
import { createIdentityMetrics } from "../../../sidecar/capa/identity-metrics.ts";

test("reports the number of refused identities at each scrape", async (t) => {
  const [registry, refused] = [new Registry(), { size: 0 }];
  createIdentityMetrics(registry, refused);
  for (const size of [0, 5]) {
    refused.size = size;
    t.match(await registry.metrics(), `ack_role_resolver_sidecar_refused_identities ${size}\n`);
  }
});
