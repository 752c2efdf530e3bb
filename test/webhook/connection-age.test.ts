import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { type Test, test } from "tap";
import { Registry } from "prom-client";
import { decisionSettings } from "../../shared/core/context.ts";
import { systemClock } from "../../shared/core/clock.ts";
import { createLogger } from "../../shared/server/logger.ts";
import { readSettings } from "../../shared/server/read-settings.ts";
import { Drain } from "../../shared/server/stopping.ts";
import { buildWebhook } from "../../webhook/app.ts";
import { createWebhookMetrics } from "../../webhook/metrics.ts";
import { makePairs } from "../certs/pairs.ts";
import { fixtureText } from "./reviews.ts";
import { COMPANY, FakeSource } from "./webhook-under-test.ts";

const [{ cert, key, ca }] = await makePairs();
const SETTINGS = readSettings("webhook", { cluster: true, tlsDir: "unused" }, {});

/** Returns the URL of a webhook with this clock. */
async function listening(t: Test, steady: () => number): Promise<string> {
  const app = buildWebhook({ decisions: decisionSettings(SETTINGS), tls: { cert, key } }, {
    source: new FakeSource(COMPANY), clock: { ...systemClock, steady }, drain: new Drain(),
    log: createLogger({ name: "webhook", level: "silent" }), metrics: createWebhookMetrics(new Registry()),
  });
  t.teardown(() => app.close());
  return app.listen({ host: "127.0.0.1", port: 0 });
}

test("closes a connection after the first response at an age of 30 s", async (t) => {
  let nowMs = 0;
  const url = await listening(t, () => nowMs);
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca });
  t.teardown(() => agent.destroy());
  const review = async (): Promise<string> => {
    const headers = { "content-type": "application/json" };
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const sent = request(`${url}/mutate/resources`, { method: "POST", agent, headers }, resolve).once("error", reject);
    sent.end(fixtureText("bucket-create-selected"));
    const response = await promise;
    await response.toArray();
    return `${response.statusCode} ${sent.reusedSocket ? "reused" : "new"} ${response.headers.connection}`;
  };
  t.equal(await review(), "200 new keep-alive");
  nowMs = 29_999;
  t.equal(await review(), "200 reused keep-alive");
  nowMs = 30_000;
  t.equal(await review(), "200 reused close");
  t.equal(await review(), "200 new keep-alive", "the next request opens a connection");
});
