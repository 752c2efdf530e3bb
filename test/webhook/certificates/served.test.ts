import { createServer, type Server } from "node:https";
import { Registry } from "prom-client";
import { type Test, test } from "tap";
import { parseCertificate } from "../../../certs/pem.ts";
import type { ServingPair } from "../../../certs/certificate-files.ts";
import { createWebhookMetrics } from "../../../webhook/metrics.ts";
import { ServedCertificate } from "../../../webhook/serving-certificate.ts";
import { makeClients } from "../../certs/clients.ts";
import { makePairs } from "../../certs/pairs.ts";

const [first, second] = await makePairs();

function pairOf({ cert, key }: { readonly cert: string; readonly key: string }): ServingPair {
  return { cert, key, notAfter: parseCertificate(cert)?.validToDate ?? new Date(0) };
}

interface Fixture {
  readonly served: ServedCertificate;
  readonly registry: Registry;
  readonly server: Server;
}

function fixture(t: Test, pair: ServingPair): Fixture {
  const server = createServer();
  t.teardown(() => server.close());
  const registry = new Registry();
  const hosts = ["127.0.0.1", "hook.ns.svc"];
  const metrics = createWebhookMetrics(registry);
  const served = new ServedCertificate({ server, pair, clientCA: null, hosts, metrics });
  return { served, registry, server };
}

test("records the expiry and the missing names of each certificate", async (t) => {
  const { served, registry } = fixture(t, pairOf(second));
  served.usePair(pairOf(first));
  t.same(served.notAfter, pairOf(first).notAfter);
  t.match(await registry.metrics(), /^ack_role_resolver_webhook_certificate_expiry_timestamp_seconds \d{10}$/m);
  t.same(served.missingHosts, ["hook.ns.svc"]);
  t.match(await registry.metrics(), /^ack_role_resolver_webhook_certificate_missing_hosts 1$/m);
});

test("continues to use the previous pair if OpenSSL rejects a new one", (t) => {
  const { served } = fixture(t, pairOf(first));
  t.throws(() => served.usePair({ ...pairOf(second), key: first.key }));
  t.same(served.notAfter, pairOf(first).notAfter);
  t.end();
});

test("a replaced client CA is used with the current and each later certificate", async (t) => {
  const { served, server } = fixture(t, pairOf(first));
  const { ca } = await makeClients("api");
  const contexts: unknown[] = [];
  server.setSecureContext = (options) => void contexts.push(options);
  served.useClientCA(ca);
  served.usePair(pairOf(second));
  t.same(contexts, [first, second].map(({ cert, key }) => ({ cert, key, ca })));
});
