import { Agent, request } from "node:https";
import { setTimeout as delay } from "node:timers/promises";
import { type Test, test } from "tap";
import { storeCertificates } from "../../certs/certificate-files.ts";
import { makePairs } from "../certs/pairs.ts";
import { get } from "../loopback-request.ts";
import { fixture } from "../webhook/reviews.ts";
import { until } from "./apiserver/until.ts";
import { statusOf } from "./response-status.ts";
import { type ServerProcess, startServer } from "./server-process.ts";

const EXAMPLES = new URL("../../manifests/examples", import.meta.url).pathname;
const [pair] = await makePairs();
const BODY = JSON.stringify(fixture("bucket-create-selected"));
/**
 * The maximum time until a webhook without requests in flight has stopped, in ms. The documented time is 2 s, but the
 * machine may be loaded.
 */
const IDLE_STOP_LIMIT_MS = 3_000;
/** The time that a cluster needs to remove the endpoint of a terminating Pod, in ms. */
const PROPAGATION_MS = 1_500;

async function startWebhook(t: Test): Promise<ServerProcess> {
  const dir = t.testdir({});
  await storeCertificates(dir, pair);
  const webhook = await startServer("webhook", ["--from", EXAMPLES, "--tls-dir", dir]);
  t.teardown(() => webhook.stop("SIGKILL"));
  return webhook;
}

/** Sends a review. Resolves to the HTTP status, or to the code of the error if the review is lost. */
async function review({ address }: ServerProcess, agent: Agent): Promise<number | string> {
  const headers = { "content-type": "application/json" };
  const options = { method: "POST", headers, agent, ca: pair.ca };
  return await statusOf(request(`https://${address}/mutate/resources`, options).end(BODY));
}

test("stops within 2 s if no request is in flight, although a connection is open", async (t) => {
  const webhook = await startWebhook(t);
  const agent = new Agent({ keepAlive: true });
  t.teardown(() => agent.destroy());
  t.equal(await review(webhook, agent), 200);
  const startMs = Date.now();
  t.equal(await webhook.stop(), 0);
  const stopMs = Date.now() - startMs;
  t.ok(stopMs < IDLE_STOP_LIMIT_MS, `stopped after ${stopMs} ms`);
});

test("loses no review under load while a cluster removes the endpoint of the Pod", async (t) => {
  const webhook = await startWebhook(t);
  const agent = new Agent({ keepAlive: true, maxSockets: 10 });
  t.teardown(() => agent.destroy());
  const statuses = new Map<number | string, number>();
  const endpoint = { removed: false };
  const load = Promise.all(Array.from({ length: 10 }, async () => {
    while (!endpoint.removed) {
      const status = await review(webhook, agent);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  }));
  t.ok(await until(async () => (statuses.get(200) ?? 0) >= 200, 10_000));
  const stopped = webhook.stop();
  const isUnready = async (): Promise<boolean> => (await get(`http://${webhook.healthAddress}/readyz`)).status === 503;
  t.ok(await until(isUnready, 2_000), "the webhook is unready");
  const servedBefore = statuses.get(200) ?? 0;
  await delay(PROPAGATION_MS);
  endpoint.removed = true;
  await load;
  t.equal(await stopped, 0);
  const served = statuses.get(200) ?? 0;
  t.ok(served > servedBefore, `the webhook answered ${served - servedBefore} reviews after SIGTERM`);
  t.same([...statuses.keys()], [200], `responses by status: ${JSON.stringify([...statuses])}`);
});
