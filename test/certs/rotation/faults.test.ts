import { test } from "tap";
import { isJsonObject, type JsonObject } from "../../../shared/formats/json.ts";
import type { FakeKubernetes } from "./fake-kubernetes.ts";
import {
  advanceUntil, annotate, bundles, entry, eventReasons, EVENTS, installConfigurations, installed, isPublished,
  MUTATING, running, SECRET, served, SERVING, startReplica, until,
} from "./replica-fixture.ts";
import { DAY_MS, makeCA } from "./stored.ts";

const MINUTE_MS = 60_000;

function sortedData(api: FakeKubernetes): string {
  return JSON.stringify(Object.entries(Object(api.object(SECRET)["data"])).toSorted(([a], [b]) => a.localeCompare(b)));
}

test("sets the caBundle of new webhooks without a warning, and restores one that is changed", async (t) => {
  const { api, clock } = installed({ configurations: false });
  const replica = startReplica(t, api, clock);
  await until(() => served(api).length > 0);
  t.notOk(api.requests.some((one) => one.startsWith("PATCH")), "a missing configuration is not an error");
  installConfigurations(api);
  await until(() => isPublished(api));
  await advanceUntil(clock, () => eventReasons(api).includes("CABundleSet"));
  changeWebhooks(api, (webhooks) => [...webhooks, { ...Object(webhooks[0]), name: "new.example.com" }], "");
  await until(() => isPublished(api));
  t.notMatch(await replica.registry.metrics(), /restore-bundle/, "an upgrade adds webhooks without a caBundle");
  installConfigurations(api);
  await advanceUntil(clock, () => isPublished(api));
  t.match(await replica.registry.metrics(), /certificates_writes_total{step="restore-bundle",outcome="ok"} [12]\n/);
  t.same(replica.lines.filter((line) => line.includes("another program")), []);
  changeWebhooks(api, (webhooks) => webhooks, btoa((await makeCA()).cert));
  await advanceUntil(clock, () => isPublished(api));
  await advanceUntil(clock, () => eventReasons(api).includes("CABundleRestored"));
  t.same(eventReasons(api), ["CertificatesCreated", "CABundleSet", "CABundleRestored"]);
});

function asObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** Changes the webhooks, and sets the caBundle of the last one, as another program does. */
function changeWebhooks(api: FakeKubernetes, change: (webhooks: unknown[]) => unknown[], caBundle: string): void {
  api.change(MUTATING, (configuration) => {
    const { webhooks } = configuration;
    const changed = change(Array.isArray(webhooks) ? webhooks : []);
    const last = asObject(changed.pop());
    const clientConfig = { ...asObject(last["clientConfig"]), caBundle };
    return { ...configuration, webhooks: [...changed, { ...last, clientConfig }] };
  });
}

test("keeps the certificate while the Secret is invalid or deleted, and restores the Secret", async (t) => {
  const replica = await running(t);
  const { api, clock } = replica;
  const { data } = api.object(SECRET);
  const isRepaired = (): boolean => sortedData(api) === before;
  const before = sortedData(api);
  const planted = "planted-key-in-a-garbled-entry";
  const value = Buffer.from(planted).toString("base64");
  const garbled = { "tls.crt": value, "ca.key": value };
  for (const invalid of [garbled, {}, { ...Object(data), "previous-ca.crt": "x" }]) {
    api.change(SECRET, (secret) => ({ ...secret, data: invalid }));
    await until(isRepaired);
  }
  api.remove(SECRET);
  const missingMs = await advanceUntil(clock, isRepaired);
  t.ok(missingMs >= 10_000 && missingMs <= 20_000, `created again after ${missingMs} ms`);
  t.equal(served(api).length, 1);
  t.same(bundles(api), [entry(api, "ca.crt")]);
  const rejections = replica.lines.filter((line) => line.includes("are missing or invalid"));
  t.equal(rejections.length, 5, "each fault is logged once, and the empty Secret of the installation");
  const events = [...api.objects].filter(([path]) => path.startsWith(EVENTS));
  const outputs = [...replica.lines, JSON.stringify(events), await replica.registry.metrics()].join("\n");
  const secrets = [planted, ...["tls.key", "ca.key"].flatMap((key) => entry(api, key).split("\n").slice(1, -2))];
  t.notOk(secrets.some((secret) => outputs.includes(secret)), "no key is in the log, a metric or an Event");
  t.notOk(secrets.some((secret) => outputs.includes(Buffer.from(secret).toString("base64"))));
});

test("reports a rejected write once and retries it, and counts an Event that cannot be written", async (t) => {
  const { api, clock } = installed();
  api.rejected.set(`PUT ${SECRET}`, 403);
  api.rejected.set(`POST ${EVENTS}`, 403);
  const replica = startReplica(t, api, clock);
  const writes = (): number => api.requests.filter((one) => one === `PUT ${SECRET}`).length;
  const faultLines = (): string[] => (
    replica.lines.filter((line) => line.includes("certificates cannot be maintained"))
  );
  await until(() => faultLines().length === 1);
  for (const count of [2, 3]) {
    clock.advance(10_000);
    await until(() => writes() === count);
  }
  const faults = faultLines();
  t.equal(faults.length, 1);
  t.match(JSON.parse(faults[0] ?? ""), {
    level: "error", activity: "write", secret: "ack-role-resolver/certificates",
    fault: `PUT ${SECRET}: the API server returned 403 (Fake); `
      + "apply the objects of `ack-role-resolver manifests rbac`",
  }, "the message of the API server, which quotes the request, is not logged");
  t.match(await replica.registry.metrics(), /certificates_writes_total{step="any",outcome="fault"} 1\n/);
  api.rejected.delete(`PUT ${SECRET}`);
  clock.advance(10_000);
  await until(() => served(api).length === 1);
  await until(() => replica.lines.some((line) => line.includes("Event could not be written")));
  t.match(await replica.registry.metrics(), /certificates_events_total{outcome="failed"} 1\n/);
});

test("does not change a Secret that cert-manager writes", async (t) => {
  const { api, clock } = installed();
  const annotations = { "cert-manager.io/certificate-name": "webhook" };
  const metadata = { namespace: "ack-role-resolver", name: "webhook-tls", annotations };
  api.put(SERVING, { kind: "Secret", metadata });
  const replica = startReplica(t, api, clock);
  await until(() => replica.lines.some((line) => line.includes("set certificates.mode to cert-manager")));
  t.notOk(api.requests.some((one) => one.startsWith("PUT /api/v1") || one.startsWith("PATCH")));
});

test("writes an Event if the certificate was not renewed in time", async (t) => {
  const { api, clock } = installed({ configurations: false });
  const replica = startReplica(t, api, clock);
  await until(() => served(api).length === 1);
  api.rejected.set(`PUT ${SECRET}`, 500);
  clock.advance(26 * DAY_MS);
  await advanceUntil(clock, () => eventReasons(api).includes("CertificateExpiring"));
  const note = /The serving certificate expires at 2026-01-31T.* was not renewed/;
  t.match(JSON.stringify([...api.objects.values()]), note);
  clock.advance(10 * MINUTE_MS);
  for (let text = ""; !text.includes('events_total{outcome="limited"}');) text = await replica.registry.metrics();
  const expiring = eventReasons(api).filter((reason) => reason === "CertificateExpiring");
  t.equal(expiring.length, 1, "one series has one Event");
});

test("does not overwrite a Secret that another leader changes while a caBundle is written", async (t) => {
  const replica = await running(t);
  const { api, clock } = replica;
  const request = api.request.bind(api);
  api.request = async (sent) => {
    api.request = request;
    const labels = { by: "other" };
    api.change(SECRET, (secret) => ({ ...secret, metadata: { ...Object(secret["metadata"]), labels } }));
    return await request(sent);
  };
  annotate(api, "leaf");
  installConfigurations(api);
  await until(() => api.request === request);
  await advanceUntil(clock, () => served(api).length === 2);
  t.match(await replica.registry.metrics(), /certificates_writes_total{step="issue",outcome="conflict"} 1\n/);
  t.match(api.object(SECRET), { metadata: { labels: { by: "other" } } });
});

test("renews the certificate although the caBundle cannot be read or written", async (t) => {
  for (const request of ["PATCH", "GET /apis/admissionregistration.k8s.io/"]) {
    const { api, clock } = installed();
    api.rejected.set(request, 403);
    const replica = startReplica(t, api, clock);
    await advanceUntil(clock, () => served(api).length === 1);
    clock.advance(20 * DAY_MS);
    await advanceUntil(clock, () => served(api).length === 2);
    const faults = replica.lines.filter((line) => line.includes("certificates cannot be maintained"));
    t.ok(faults.length > 0, request);
    annotate(api, "ca");
    await advanceUntil(clock, () => entry(api, "next-ca.crt") !== "");
    const startMs = clock.now();
    await advanceUntil(clock, () => clock.now() - startMs > 5 * MINUTE_MS);
    t.not(entry(api, "next-ca.crt"), "", "the next CA signs nothing, because the API server does not trust it");
  }
});

test("reports an annotation that requests no known rotation", async (t) => {
  const replica = await running(t);
  const { api } = replica;
  annotate(api, "certificate");
  await until(() => replica.lines.some((line) => line.includes('\\"certificate\\": expected leaf or ca')));
  t.equal(served(api).length, 1);
});
