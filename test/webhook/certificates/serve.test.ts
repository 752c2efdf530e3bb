import { once } from "node:events";
import { connect } from "node:tls";
import { type Test, test } from "tap";
import { systemClock } from "../../../shared/inventory/clock.ts";
import { createLogger } from "../../../shared/server/logger.ts";
import { readSettings } from "../../../shared/server/settings.ts";
import { type RunningWebhook, runWebhook } from "../../../webhook/main.ts";
import { FakeSource } from "../webhook-under-test.ts";
import { FakeKubernetes } from "./fake-kubernetes.ts";
import { entry, installConfigurations, installSecret } from "./replica-fixture.ts";

const log = createLogger({ name: "webhook", level: "silent" });

async function start(t: Test, api: FakeKubernetes): Promise<RunningWebhook> {
  const source = new FakeSource([]);
  source.status = { loaded: true, lastSyncMs: systemClock.steady(), fault: null };
  const flags = {
    cluster: true, tlsSecret: "ack-role-resolver/tls", listen: "127.0.0.1:0", healthListen: "127.0.0.1:0",
  };
  const webhook = await runWebhook(readSettings("webhook", flags, {}), { source, log, api });
  t.teardown(() => webhook.close());
  return webhook;
}

async function readiness({ healthAddress }: RunningWebhook): Promise<string> {
  return (await fetch(`http://${healthAddress}/readyz`)).text();
}

/** Connects as the API server does. Resolves to "ok", or to the error of the TLS client. */
async function handshake({ address }: RunningWebhook, ca: string): Promise<string> {
  const [host, port] = address.split(":");
  const servername = "ack-role-resolver-webhook.ack-role-resolver.svc";
  const socket = connect({ host, port: Number(port), servername, ...(ca !== "" && { ca }) });
  // `once` rejects if the socket emits an error.
  const result = await once(socket, "secureConnect").then(() => "ok", (error: unknown) => String(error));
  socket.destroy();
  return result;
}

test("is unready and rejects connections until the Secret has a certificate, and then serves it", async (t) => {
  const api = new FakeKubernetes();
  api.rejected.set("GET /api/v1/", 403);
  const webhook = await start(t, api);
  t.equal(await readiness(webhook), "no serving certificate is available yet\n");
  t.not(await handshake(webhook, ""), "ok");
  installSecret(api);
  installConfigurations(api);
  api.rejected.clear();
  while ((await readiness(webhook)) !== "ok\n") await new Promise((done) => setImmediate(done));
  t.equal(await handshake(webhook, entry(api, "ca.crt")), "ok");
});
