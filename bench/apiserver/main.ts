// `npm run bench:apiserver`: prints how long other users wait while a tenant sends large objects, and which part of the
// time is the webhook's: without a webhook, with a webhook that admits everything, and with this one. Requires what
// `npm run setup:apiserver` builds.
import { mkdtemp, rm } from "node:fs/promises";
import { Agent, request } from "node:https";
import type { IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Test } from "tap";
import { makeCertificates } from "../../certs/make.ts";
import { storeCertificates } from "../../certs/store.ts";
import { manifestObjects } from "../../manifests/render.ts";
import type { Cluster } from "../../test/real/apiserver/cluster.ts";
import { onCluster } from "../../test/real/apiserver/on-cluster.ts";
import { setTimeLimit } from "../../test/real/time-limit.ts";
import { apply, installWebhook, MANIFEST_OPTIONS } from "../../test/real/webhook/installed-webhook.ts";
import { ACK_CRDS } from "../../test/fixtures/ack-crds.ts";
import { reviewOf } from "../../test/webhook/reviews.ts";
import { type Program, startBareServer, stop } from "../sidecar/programs.ts";
import { formatLatencies, measure, SMALL_BUCKET, type Subject } from "./hostile-load.ts";

const LIMIT_MS = 15 * 60_000;
const REVIEW = JSON.stringify(reviewOf(SMALL_BUCKET));

onCluster("the time of other users while a tenant sends large objects", async (t, cluster) => {
  setTimeLimit(t, LIMIT_MS);
  await apply(cluster, ["attacker", "victim"].map((name) => (
    { apiVersion: "v1", kind: "Namespace", metadata: { name } }
  )));
  await cluster.installCRDs(ACK_CRDS);
  await report(t, cluster, "no webhook", null);
  const bare = await installBareWebhook(t, cluster);
  await report(t, cluster, "a webhook that admits everything", bare);
  const { address, pid } = await installWebhook(t, cluster);
  await report(t, cluster, "the webhook", { pid, review: sender(address) });
});

async function report(t: Test, cluster: Cluster, name: string, subject: Subject | null): Promise<void> {
  for (const isHostile of [false, true]) {
    // oxlint-disable-next-line no-await-in-loop -- one at a time: concurrent measurements affect each other
    const measured = await measure(cluster, subject, isHostile);
    const { largeObjects, serverMs, webhookMs } = measured;
    const load = isHostile ? `${largeObjects} large objects` : "no load";
    t.comment(`${name}, ${load}: through the API server ${formatLatencies(measured.throughServerMs)}`);
    if (subject !== null) t.comment(`${name}, ${load}: straight to the webhook ${formatLatencies(measured.directMs)}`);
    if (!isHostile) continue;
    const each = (ms: number): string => `${Math.round(ms / largeObjects)} ms`;
    t.comment(`${name}: CPU time per large object: API server ${each(serverMs)}, webhook ${each(webhookMs)}`);
  }
}

/** Returns a function that sends a small review to a webhook. */
function sender(address: string): () => Promise<unknown> {
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false });
  const options = { method: "POST", agent, headers: { "content-type": "application/json" } };
  return async () => {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    request(`https://${address}/mutate/resources`, options, resolve).once("error", reject).end(REVIEW);
    return await (await promise).toArray();
  };
}

/** Starts the bare webhook, and applies the webhook configurations with its URL. */
async function installBareWebhook(t: Test, cluster: Cluster): Promise<Subject> {
  const dir = await mkdtemp(path.join(tmpdir(), "ack-role-resolver-bare-"));
  t.teardown(() => rm(dir, { recursive: true }));
  const certificates = await makeCertificates({ hosts: ["127.0.0.1"], now: new Date() });
  await storeCertificates(dir, certificates, { force: false });
  const bare: Program = await startBareServer(path.join(import.meta.dirname, "bare-webhook.ts"), [dir]);
  t.teardown(() => stop(bare));
  const address = `127.0.0.1:${bare.port}`;
  const options = { ...MANIFEST_OPTIONS, caBundle: certificates.ca, url: `https://${address}` };
  await apply(cluster, manifestObjects("webhooks", options));
  return { pid: bare.process.pid, review: sender(address) };
}
