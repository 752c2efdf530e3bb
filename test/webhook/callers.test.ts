import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { Agent, request, type RequestOptions } from "node:https";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { type Test, test } from "tap";
import { storeCertificates } from "../../certs/certificate-files.ts";
import { LIMITS } from "../../shared/core/limits.ts";
import { createLogger } from "../../shared/server/logger.ts";
import { readSettings } from "../../shared/server/read-settings.ts";
import { readAllowedClient } from "../../webhook/callers.ts";
import { type RunningWebhook, runWebhook } from "../../webhook/main.ts";
import { makeClients } from "../certs/clients.ts";
import { makePairs } from "../certs/pairs.ts";
import { fixture } from "./reviews.ts";
import { COMPANY, FakeSource } from "./webhook-under-test.ts";
import { replaceCertificates } from "../certs/replace-certificates.ts";

const [serving, renewed] = await makePairs();
const { ca, pairs: [apiserver, node] } = await makeClients("kube-apiserver", "node");
const { ca: otherCA, pairs: [imposter] } = await makeClients("kube-apiserver");
const log = createLogger({ name: "webhook", level: "silent" });
const FLAGS = { cluster: true, listen: "127.0.0.1:0", healthListen: "127.0.0.1:0" };

interface Running {
  readonly webhook: RunningWebhook;
  readonly dir: string;
}

async function running(t: Test, flags: Readonly<Record<string, string>> = {}): Promise<Running> {
  const dir = t.testdir({ "clients.crt": ca });
  await storeCertificates(dir, serving);
  const settings = readSettings("webhook", { ...FLAGS, tlsDir: dir, ...flags }, {});
  const webhook = await runWebhook(settings, { source: new FakeSource(COMPANY), log });
  t.teardown(() => webhook.close());
  return { webhook, dir };
}

async function verifying(t: Test): Promise<Running> {
  return running(t, { clientCaFile: join(t.testdirName, "clients.crt"), clientName: "kube-apiserver" });
}

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
}

async function send(
  { address }: RunningWebhook, options: RequestOptions = {}, body: unknown = fixture("bucket-create-selected"),
): Promise<Answer> {
  const headers = { "content-type": "application/json" };
  const sent = request(`https://${address}/mutate/resources`, {
    method: "POST", ca: [serving.ca, renewed.ca], headers, ...options,
  });
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  sent.on("response", resolve).on("error", reject);
  if (body !== null) sent.end(JSON.stringify(body));
  else sent.flushHeaders();
  const response = await promise;
  const text = (await response.setEncoding("utf8").toArray()).join("");
  return { status: response.statusCode, headers: response.headers, text };
}

async function metrics({ healthAddress }: RunningWebhook): Promise<string> {
  return await (await fetch(`http://${healthAddress}/metrics`)).text();
}

test("accepts only a client certificate with the CA and the name in the settings", async (t) => {
  const { webhook } = await verifying(t);
  t.equal((await send(webhook, { ...apiserver })).status, 200);
  const denied = await send(webhook, { ...node });
  t.equal(denied.status, 403);
  t.match(JSON.parse(denied.text), {
    kind: "Status",
    message: "ERR_REQUEST_CLIENT: The common name of the client certificate is not --client-name.",
    reason: "Forbidden",
  });
  await t.rejects(send(webhook, { ...imposter }), "a certificate of another CA");
  await t.rejects(send(webhook), "no certificate");
  t.match(await metrics(webhook), 'ack_role_resolver_webhook_rejected_calls_total{reason="client"} 1');
});

test("rejects a client whose certificate has another name, and does not read the body", async (t) => {
  const { webhook } = await verifying(t);
  const headers = { "content-type": "application/json", "content-length": String(LIMITS.reviewBytes.value) };
  const { status, headers: answered } = await send(webhook, { ...node, headers }, null);
  t.equal(status, 403);
  t.equal(answered.connection, "close");
});

test("verifies the client of a resumed TLS session", async (t) => {
  const { webhook: { address } } = await verifying(t);
  const [host, port] = address.split(":");
  const options = { host, port: Number(port), rejectUnauthorized: false, maxVersion: "TLSv1.2", ...node } as const;
  const first = connect(options);
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const session = await (first.on("session", resolve), promise);
  first.destroy();
  const resumed = connect({ ...options, session });
  await once(resumed, "secureConnect");
  t.equal(resumed.isSessionReused(), true);
  resumed.end("POST /mutate/resources HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}");
  t.match((await resumed.setEncoding("utf8").toArray()).join(""), /^HTTP\/1\.1 403 /);
});

test("verifies clients with the same CA after the serving certificate was reloaded", async (t) => {
  const { webhook, dir } = await verifying(t);
  await replaceCertificates(dir, renewed);
  const reloaded = 'ack_role_resolver_webhook_certificate_reloads_total{outcome="ok"} 1';
  while (!(await metrics(webhook)).includes(reloaded));
  t.equal((await send(webhook, { ...apiserver, agent: new Agent() })).status, 200);
  await t.rejects(send(webhook, { ...imposter, agent: new Agent() }));
});

test("reloads the CA of client certificates, and uses the last valid CA if the new file is invalid", async (t) => {
  const { webhook, dir } = await verifying(t);
  const [host, port] = webhook.address.split(":");
  const tls = { rejectUnauthorized: false, maxVersion: "TLSv1.2" } as const;
  const previous = { host, port: Number(port), ...tls, ...apiserver };
  const first = connect(previous);
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const session = await (first.on("session", resolve), promise);
  first.destroy();

  await writeFile(join(dir, "clients.crt"), otherCA);
  while (!(await metrics(webhook)).includes('certificate_reloads_total{outcome="ok"} 1'));
  t.equal((await send(webhook, { ...imposter, agent: new Agent() })).status, 200);
  await t.rejects(send(webhook, { ...apiserver, agent: new Agent() }), "the previous CA");
  await t.rejects(once(connect({ ...previous, session }), "secureConnect"), "a session of the previous CA");

  await writeFile(join(dir, "clients.crt"), "no certificate");
  while (!(await metrics(webhook)).includes('certificate_reloads_total{outcome="fault"} 1'));
  t.equal((await send(webhook, { ...imposter, agent: new Agent() })).status, 200);
  await replaceCertificates(dir, renewed);
  while (!(await metrics(webhook)).includes('certificate_reloads_total{outcome="ok"} 2'));
  t.equal((await send(webhook, { ...imposter, agent: new Agent() })).status, 200, "with the reloaded CA");
});

test("rejects a missing or invalid --client-ca-file", async (t) => {
  const dir = t.testdir({ "invalid.crt": "no certificate", "leaf.crt": node?.cert ?? "" });
  const read = (name: string): Promise<unknown> => (
    readAllowedClient({ clientCaFile: join(dir, name), clientName: "kube-apiserver" })
  );
  await t.rejects(read("missing.crt"), { code: "ERR_CONFIG_TLS_MISSING", message: /missing\.crt cannot be read$/ });
  for (const name of ["invalid", "leaf"]) {
    const message = new RegExp(`^--client-ca-file: .*/${name}\\.crt is not the PEM certificate of a CA$`);
    await t.rejects(read(`${name}.crt`), { code: "ERR_CONFIG_TLS_INVALID", message });
  }
  t.equal(await readAllowedClient({ clientCaFile: null, clientName: null }), null);
});

test("serves reviews while other connections send no request", async (t) => {
  const { webhook } = await running(t);
  const oldest = await open(t, webhook);
  const closed = once(oldest, "close");
  await Promise.all(Array.from({ length: LIMITS.webhookConnections.value }, () => open(t, webhook)));
  t.equal((await send(webhook)).status, 200);
  await closed;
});

async function open(t: Test, { address }: RunningWebhook): Promise<TLSSocket> {
  const [host, port] = address.split(":");
  const socket = connect({ host, port: Number(port), rejectUnauthorized: false }).on("error", () => {});
  t.teardown(() => socket.destroy());
  await once(socket, "secureConnect");
  return socket;
}
