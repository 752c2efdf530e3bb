import { readFile } from "node:fs/promises";
import { test } from "tap";
import { runManager } from "../../cli/certs.ts";
import { storeCertificates } from "../../certs/certificate-files.ts";
import { describeMetrics, metricLines } from "../../docs/metrics.ts";
import { createLogger } from "../../shared/server/logger.ts";
import { readSettings } from "../../shared/server/read-settings.ts";
import { runWebhook } from "../../webhook/main.ts";
import { FakeKubernetes } from "../certs/rotation/fake-kubernetes.ts";
import { makePairs } from "../certs/pairs.ts";
import { get, start } from "../sidecar/running-sidecar.ts";
import { COMPANY, FakeSource } from "../webhook/webhook-under-test.ts";

/** Returns the names of the metrics that this program exposes, including metrics without a series. */
async function exposed(healthAddress: string): Promise<string[]> {
  const { body } = await get(healthAddress, "/metrics");
  return [...body.matchAll(/^# TYPE (ack_role_resolver_\S+) /gm)].map(([, name = ""]) => name).toSorted();
}

const names = (metrics: readonly { readonly name: string }[]): string[] => metrics.map(({ name }) => name).toSorted();

test("a running sidecar exposes the same metrics as docs/metrics.md describes", async (t) => {
  const { sidecar } = await start(t);
  t.same(await exposed(sidecar.healthAddress), names(describeMetrics().sidecar));
});

test("a running webhook exposes the same metrics as docs/metrics.md describes", async (t) => {
  const [pair] = await makePairs();
  const tlsDir = t.testdir({});
  await storeCertificates(tlsDir, pair);
  const settings = readSettings(
    "webhook",
    { cluster: true, tlsDir, listen: "127.0.0.1:0", healthListen: "127.0.0.1:0" },
    {},
  );
  const webhook = await runWebhook(settings, {
    source: new FakeSource(COMPANY),
    log: createLogger({ name: "webhook", level: "silent" }),
  });
  t.teardown(() => webhook.close());
  t.same(await exposed(webhook.healthAddress), names(describeMetrics().webhook));
});

test("a running `certs manage` exposes the same metrics as docs/metrics.md describes", async (t) => {
  const settings = readSettings("certs manage", { healthListen: "127.0.0.1:0" }, {});
  const log = createLogger({ name: "certificates", level: "silent" });
  const manager = await runManager(settings, { api: new FakeKubernetes(), log });
  t.teardown(() => manager.close());
  t.same(await exposed(manager.healthAddress), names(describeMetrics().certificates));
});

test("docs/metrics.md lists each metric of the webhook and the sidecar", async (t) => {
  const page = await readFile(new URL("../../docs/metrics.md", import.meta.url), "utf8");
  const rows = [...page.matchAll(/^- `(\w+)` \((?:counter|gauge|histogram)\): /gm)].map(
    ([, name]) => `ack_role_resolver_${name}`,
  );
  const { webhook, sidecar, certificates } = describeMetrics();
  t.same(rows.toSorted(), [...new Set([webhook, sidecar, certificates].flatMap(names))].toSorted());
});

test("docs/metrics.md matches the output of its generator", async (t) => {
  const page = await readFile(new URL("../../docs/metrics.md", import.meta.url), "utf8");
  t.ok(page.endsWith(`${metricLines().join("\n")}\n`));
});
