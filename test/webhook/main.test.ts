import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { createServer } from "node:net";
import { join } from "node:path";
import { connect } from "node:tls";
import { type Test, test } from "tap";
import { storeCertificates } from "../../certs/certificate-files.ts";
import { systemClock } from "../../shared/core/clock.ts";
import { boundAddress } from "../../shared/server/listen-address.ts";
import { createLogger } from "../../shared/server/logger.ts";
import { readSettings } from "../../shared/server/read-settings.ts";
import { drainAndClose } from "../../shared/server/stopping.ts";
import { type RunningWebhook, runWebhook } from "../../webhook/main.ts";
import { makePairs } from "../certs/pairs.ts";
import { fixture, golden } from "./reviews.ts";
import { COMPANY, FakeSource, webhookUnderTest } from "./webhook-under-test.ts";
import { replaceCertificates } from "../certs/replace-certificates.ts";

const [first, second] = await makePairs();
const log = createLogger({ name: "webhook", level: "silent" });
const FLAGS = { cluster: true, listen: "127.0.0.1:0", healthListen: "127.0.0.1:0" };

interface Answer {
  readonly status: number | undefined;
  readonly connection: string | undefined;
  readonly text: string;
}

async function running(
  t: Test, dir: string, { source = new FakeSource(COMPANY), listen = "127.0.0.1:0" } = {},
): Promise<RunningWebhook> {
  source.status = { loaded: true, lastSyncMs: systemClock.steady(), fault: null };
  const settings = readSettings("webhook", { ...FLAGS, listen, healthListen: listen, tlsDir: dir }, {});
  const webhook = await runWebhook(settings, { source, log });
  t.teardown(() => webhook.close().catch(() => {}));
  return webhook;
}

test("serves the role map with --ui, only on loopback", async (t) => {
  const dir = await dirWith(t);
  const source = new FakeSource(COMPANY);
  source.status = { loaded: true, lastSyncMs: systemClock.steady(), fault: null };
  const lines: string[] = [];
  const capturing = createLogger({ name: "webhook", destination: { write: (line) => void lines.push(line) } });
  const start = (ui: string): Promise<RunningWebhook> => (
    runWebhook(readSettings("webhook", { ...FLAGS, tlsDir: dir, ui }, {}), { source, log: capturing })
  );
  const webhook = await start("127.0.0.1:0");
  const [, address = ""] = /"address":"([^"]+)"[^\n]*"role map listening"/.exec(lines.join("")) ?? [];
  t.match(await (await fetch(`http://${address}/data.json`)).json(), { maps: [{ root: null }], stale: null });
  await webhook.close();
  await t.rejects(fetch(`http://${address}/`));
  await t.rejects(start("0.0.0.0:0"), { code: "ERR_CONFIG_ADDRESS" });
});

interface SendOptions {
  /** The only certificate authority that the client trusts. */
  readonly ca: string;
  readonly agent?: Agent;
  readonly body?: unknown;
  readonly path?: string;
}

async function send(webhook: RunningWebhook, options: SendOptions): Promise<Answer> {
  const { ca, agent, path = "/mutate/resources", body = fixture("bucket-create-selected") } = options;
  const headers = { "content-type": "application/json" };
  const sent = request(`https://${webhook.address}${path}`, { method: "POST", ca, headers, ...(agent && { agent }) });
  sent.end(JSON.stringify(body));
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  sent.once("response", resolve).once("error", reject);
  const response = await promise;
  let text = "";
  for await (const chunk of response) text += String(chunk);
  return { status: response.statusCode, connection: response.headers.connection, text };
}

async function dirWith(t: Test): Promise<string> {
  const dir = t.testdir({});
  await storeCertificates(dir, first);
  return dir;
}

/** Opens a connection, and returns the serial number of the server's certificate. */
async function servedSerial(webhook: RunningWebhook): Promise<string> {
  const [host, port] = webhook.address.split(":");
  const socket = connect({ host, port: Number(port), rejectUnauthorized: false });
  await once(socket, "secureConnect");
  const { serialNumber } = socket.getPeerCertificate();
  socket.destroy();
  return serialNumber;
}

async function health(webhook: RunningWebhook, path: string): Promise<readonly [status: number, text: string]> {
  const response = await fetch(`http://${webhook.healthAddress}${path}`);
  return [response.status, await response.text()];
}

/** Scrapes the metrics until they contain the line, and returns the metrics. */
async function untilMetric(webhook: RunningWebhook, line: string): Promise<string> {
  let text = "";
  while (!text.includes(line)) [, text] = await health(webhook, "/metrics");
  return text;
}

test("serves reviews over TLS, and metrics and readiness over HTTP", async (t) => {
  const source = new FakeSource(COMPANY);
  const webhook = await running(t, await dirWith(t), { source });
  const { status, text } = await send(webhook, { ca: first.ca });
  t.equal(status, 200);
  t.match(JSON.parse(text), { response: { patchType: "JSONPatch" } });
  const body = fixture("selector-create-malformed");
  const denied = await send(webhook, { ca: first.ca, path: "/validate/iamroleselectors", body });
  t.equal(denied.text, golden("validate-iamroleselectors.selector-create-malformed", denied.text));
  t.same(await health(webhook, "/readyz"), [200, "ok\n"]);
  const [, metrics] = await health(webhook, "/metrics");
  t.match(metrics, "ack_role_resolver_inventory_loaded 1");
  t.match(metrics, "ack_role_resolver_inventory_selectors 2");
  t.match(metrics, /ack_role_resolver_inventory_age_seconds \d/);
  t.match(metrics, /ack_role_resolver_webhook_certificate_expiry_timestamp_seconds \d{10}/);
  source.status = { loaded: false, lastSyncMs: null, fault: "the API server cannot be reached" };
  t.same(await health(webhook, "/readyz"), [
    503,
    "the inventory is not loaded yet: the API server cannot be reached\n",
  ]);
  t.same(await health(webhook, "/healthz"), [200, "ok\n"]);
  const unloaded = await untilMetric(webhook, "ack_role_resolver_inventory_loaded 0");
  t.notMatch(unloaded, /^ack_role_resolver_inventory_age_seconds/m, "an unloaded inventory has no age");
});

test("listens on IPv4 and IPv6 with [::], as in a cluster with both", async (t) => {
  const webhook = await running(t, await dirWith(t), { listen: "[::]:0" });
  const port = (address: string): string => address.replace("[::]:", "");
  for (const host of ["127.0.0.1", "[::1]"]) {
    const response = await fetch(`http://${host}:${port(webhook.healthAddress)}/readyz`);
    t.equal(await response.text(), "ok\n", host);
    t.equal((await send({ ...webhook, address: `${host}:${port(webhook.address)}` }, { ca: first.ca })).status, 200);
  }
});

test("counts a failed TLS handshake of a client that does not trust the CA", async (t) => {
  const webhook = await running(t, await dirWith(t));
  await t.rejects(send(webhook, { ca: second.ca }), { code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" });
  await untilMetric(webhook, "ack_role_resolver_webhook_tls_handshake_errors_total 1");
  t.equal((await send(webhook, { ca: first.ca })).status, 200);
});

test("serves a new certificate without a restart, while open connections stay open", async (t) => {
  const dir = await dirWith(t);
  const webhook = await running(t, dir);
  const agent = new Agent({ keepAlive: true });
  t.teardown(() => agent.destroy());
  await send(webhook, { ca: first.ca, agent });
  const before = await servedSerial(webhook);
  await replaceCertificates(dir, second);
  await untilMetric(webhook, `ack_role_resolver_webhook_certificate_reloads_total{outcome="ok"} 1`);
  t.not(await servedSerial(webhook), before);
  t.equal((await send(webhook, { ca: second.ca })).status, 200);
  t.equal((await send(webhook, { ca: first.ca, agent })).status, 200, "the open connection can still be used");
  await t.rejects(send(webhook, { ca: first.ca }), { code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" });
});

test("rejects and counts a key that does not match the certificate, and serves the previous certificate", async (t) => {
  const dir = await dirWith(t);
  const webhook = await running(t, dir);
  const before = await servedSerial(webhook);
  await writeFile(join(dir, "tls.key"), second.key);
  await untilMetric(webhook, `ack_role_resolver_webhook_certificate_reloads_total{outcome="fault"} 1`);
  t.equal(await servedSerial(webhook), before);
  t.equal((await send(webhook, { ca: first.ca })).status, 200);
  await replaceCertificates(dir, second);
  await untilMetric(webhook, `ack_role_resolver_webhook_certificate_reloads_total{outcome="ok"} 1`);
  t.not(await servedSerial(webhook), before);
});

test("reports a certificate of --tls-dir that is not valid for the host of --url, and serves it", async (t) => {
  const lines: string[] = [];
  const source = new FakeSource(COMPANY);
  source.status = { loaded: true, lastSyncMs: systemClock.steady(), fault: null };
  const flags = { ...FLAGS, tlsDir: await dirWith(t), url: "https://hook.ns.svc" };
  const capturing = createLogger({ name: "webhook", destination: { write: (line) => void lines.push(line) } });
  const webhook = await runWebhook(readSettings("webhook", flags, {}), { source, log: capturing });
  t.teardown(() => webhook.close());
  const reports = lines.filter((line) => line.includes("missing_hosts"));
  t.equal(reports.length, 1);
  t.match(JSON.parse(reports[0] ?? ""), { level: "error", missing_hosts: ["hook.ns.svc"], dir: flags.tlsDir });
  await untilMetric(webhook, "ack_role_resolver_webhook_certificate_missing_hosts 1");
  t.same(await health(webhook, "/readyz"), [200, "ok\nthe serving certificate is not valid for hook.ns.svc\n"]);
  t.equal((await send(webhook, { ca: first.ca })).status, 200, "the API server may call another name");
});

test("on stop, turns unready, completes requests in flight, and then closes the listeners", async (t) => {
  const source = new FakeSource(COMPANY);
  const webhook = await running(t, await dirWith(t), { source });
  const agent = new Agent({ keepAlive: true });
  t.teardown(() => agent.destroy());
  t.equal((await send(webhook, { ca: first.ca, agent })).connection, "keep-alive");
  const { promise: drained, resolve: endDrain } = Promise.withResolvers<void>();
  const close = (): Promise<void> => webhook.close();
  const stopped = drainAndClose({ log, drain: webhook.drain, drainMs: 10_000, wait: () => drained, close });
  t.same(await health(webhook, "/readyz"), [503, "the webhook is shutting down\n"]);
  const late = await send(webhook, { ca: first.ca, agent });
  t.same([late.status, late.connection], [200, "close"], "the request is answered and the connection is closed");

  // The request waits for a namespace, so that the request is still in flight when the webhook closes the listener.
  const listening = source.listeners;
  const inFlight = send(webhook, { ca: first.ca, body: fixture("bucket-create-unknown-namespace") });
  while (source.listeners === listening) await new Promise((done) => setImmediate(done));
  endDrain();
  const answer = await inFlight;
  t.same([answer.status, answer.connection], [200, "close"]);
  t.match(JSON.parse(answer.text), { response: { allowed: true } });
  await stopped;
  await t.rejects(send(webhook, { ca: first.ca }), { code: "ECONNREFUSED" });
  await t.rejects(health(webhook, "/healthz"));
});

test("closes an idle connection only after 120 s, because the API server closes it after 90 s", (t) => {
  const { server } = webhookUnderTest().app;
  t.equal(server.keepAliveTimeout, 120_000);
  t.equal(server.headersTimeout, 10_000);
  t.equal(server.requestTimeout, 15_000);
  t.equal(server.timeout, 0);
  t.match(server, { connectionsCheckingInterval: 1_000 }, "both timeouts are checked each second");
  t.end();
});

test("rejects invalid settings with an ERR_CONFIG_* error and leaves no listener open", async (t) => {
  const dir = await dirWith(t);
  const start = (flags: Record<string, string>): Promise<RunningWebhook> => (
    runWebhook(readSettings("webhook", { ...FLAGS, tlsDir: dir, ...flags }, {}), { source: new FakeSource(), log })
  );
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  t.teardown(() => taken.close());
  const port = String(boundAddress(taken).port);
  await t.rejects(start({ listen: `127.0.0.1:${port}` }), {
    code: "ERR_CONFIG_PORT_IN_USE",
    message: `--listen 127.0.0.1:${port}: the port is in use by another process; `
      + "stop that process or set --listen to another address",
  });
  await t.rejects(start({ healthListen: `127.0.0.1:${port}` }), {
    code: "ERR_CONFIG_PORT_IN_USE",
    message: /^--health-listen /,
  });
  await t.rejects(start({ listen: "127.0.0.1:70000" }), { code: "ERR_CONFIG_ADDRESS" });
  await t.rejects(start({ tlsDir: join(dir, "missing") }), { code: "ERR_CONFIG_TLS_MISSING" });
  await writeFile(join(dir, "tls.key"), second.key);
  await t.rejects(start({}), { code: "ERR_CONFIG_TLS_MISMATCH" });
  const settings = readSettings("webhook", { cluster: true, tlsDir: dir }, {});
  await t.rejects(runWebhook({ ...settings, tlsDir: null }, { source: new FakeSource(), log }), {
    code: "ERR_CONFIG_INVALID",
    message: "--tls-dir: required",
  });
});
