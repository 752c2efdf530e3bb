import { X509Certificate } from "node:crypto";
import { test } from "tap";
import { FakeClock } from "../../shared/inventory/fake-clock.ts";
import { FakeKubernetes } from "./fake-kubernetes.ts";
import {
  advanceUntil, annotate, bundles, entry, eventReasons, EVENTS, installConfigurations, installSecret, LEASE, MUTATING,
  SECRET, startReplica, until,
} from "./replica-fixture.ts";
import { DAY_MS } from "./stored.ts";

const MINUTE_MS = 60_000;

/** Whether the API server trusts exactly the CA in the Secret. */
function isPublished(api: FakeKubernetes): boolean {
  return entry(api, "ca.crt") !== "" && bundles(api).join("") === entry(api, "ca.crt");
}

function sortedData(api: FakeKubernetes): string {
  return JSON.stringify(Object.entries(Object(api.object(SECRET)["data"])).toSorted(([a], [b]) => a.localeCompare(b)));
}

function lastServed(replica: { readonly served: readonly { readonly cert: string }[] }): string | undefined {
  return replica.served.at(-1)?.cert;
}

test("the leader creates the certificates, and all replicas serve them", async (t) => {
  const [api, clock] = [new FakeKubernetes(), new FakeClock()];
  installSecret(api);
  installConfigurations(api);
  const first = startReplica(t, api, clock);
  const second = startReplica(t, api, clock, { identity: "second" });
  await until(() => first.served.length > 0 && second.served.length > 0 && isPublished(api));
  t.equal(lastServed(first), entry(api, "tls.crt"));
  t.equal(lastServed(second), entry(api, "tls.crt"));
  const certificate = new X509Certificate(entry(api, "tls.crt"));
  t.ok(certificate.checkHost("ack-role-resolver-webhook.ack-role-resolver.svc"));
  t.ok(certificate.verify(new X509Certificate(entry(api, "ca.crt")).publicKey));
  t.equal(certificate.validToDate.getTime() - clock.now(), 30 * DAY_MS);
  t.match(await first.registry.metrics(), /webhook_ca_expiry_timestamp_seconds 1798761600\n/);
  t.same(api.requests.filter((one) => one === `PUT ${SECRET}`).length, 1, "only the leader writes the Secret");
});

test("renews the certificate, and rotates the CA in steps in which the API server trusts both CAs", async (t) => {
  const [api, clock] = [new FakeKubernetes(), new FakeClock()];
  installSecret(api);
  installConfigurations(api);
  const replica = startReplica(t, api, clock);
  await until(() => replica.served.length === 1);
  const oldCA = entry(api, "ca.crt");
  clock.advance(20 * DAY_MS);
  await until(() => replica.served.length === 2);
  t.equal(entry(api, "ca.crt"), oldCA, "only the certificate is new");

  annotate(api, "ca");
  await until(() => entry(api, "next-ca.crt") !== "" && bundles(api).join("") === oldCA + entry(api, "next-ca.crt"));
  const nextCA = entry(api, "next-ca.crt");
  t.equal(replica.served.length, 2, "the next CA signs nothing yet");
  const publishedMs = await advanceUntil(clock, () => entry(api, "ca.crt") === nextCA);
  t.ok(publishedMs >= MINUTE_MS, `signed after ${publishedMs} ms`);
  await until(() => replica.served.length === 3 && bundles(api).join("") === nextCA + oldCA);
  t.equal(entry(api, "next-ca.key"), "");
  const retiredMs = await advanceUntil(clock, () => entry(api, "previous-ca.crt") === "");
  t.ok(retiredMs >= 9 * MINUTE_MS, `removed after ${retiredMs} ms`);
  await until(() => bundles(api).join("") === nextCA);
  t.same(eventReasons(api), [
    "CertificatesCreated", "CertificateIssued", "CARotationStarted", "CARotated", "PreviousCARemoved",
  ]);
});

test("after a clock jump of 400 days, serves a new certificate of a new CA", async (t) => {
  const [api, clock] = [new FakeKubernetes(), new FakeClock()];
  installSecret(api);
  installConfigurations(api);
  const replica = startReplica(t, api, clock);
  await until(() => isPublished(api));
  const oldCA = entry(api, "ca.crt");
  clock.advance(400 * DAY_MS);
  await until(() => replica.served.length === 2);
  const certificate = new X509Certificate(lastServed(replica) ?? "");
  t.ok(certificate.validToDate.getTime() > clock.now());
  t.not(entry(api, "ca.crt"), oldCA);
  await until(() => bundles(api).join("").startsWith(entry(api, "ca.crt")));
});

test("two leaders at the same time never lose a CA that signed a served certificate", async (t) => {
  const [api, clock] = [new FakeKubernetes(), new FakeClock()];
  installSecret(api);
  installConfigurations(api);
  // No replica can read or see the Lease of another one.
  const solitary = { request: api.request.bind(api) };
  api.request = async (request) => {
    if (!request.path.startsWith(LEASE.slice(0, -4))) return await solitary.request(request);
    api.objects.delete(LEASE);
    return await solitary.request(request);
  };
  const replicas = ["a", "b"].map((identity) => startReplica(t, api, clock, { identity }));
  await until(() => replicas.every(({ served }) => served.length > 0));
  for (let count = 0; count < 2; count += 1) {
    const before = entry(api, "ca.crt");
    annotate(api, "ca");
    const isRotated = (): boolean => entry(api, "ca.crt") !== before && entry(api, "previous-ca.crt") === "";
    await advanceUntil(clock, isRotated);
  }
  const both = await Promise.all(replicas.map(({ registry }) => registry.metrics()));
  t.ok(both.every((text) => text.includes("\nack_role_resolver_webhook_certificate_leader 1")), "both are leaders");
  t.match(both.join(""), /outcome="conflict"} [1-9]/, "they wrote the same object");
  const sets = api.history.filter(({ kind, data }) => kind === "Secret" && data !== undefined).map(({ data }) => {
    const text = (key: string): string => Buffer.from(String(Object(data)[key] ?? ""), "base64").toString("utf8");
    return { trusted: text("ca.crt") + text("next-ca.crt") + text("previous-ca.crt"), ca: text("ca.crt") };
  });
  for (const [index, { trusted }] of sets.entries()) {
    const before = sets[index - 1];
    if (before !== undefined) t.ok(trusted.includes(before.ca), `version ${index} contains the CA before it`);
  }
});

test("restores a caBundle that another program changes", async (t) => {
  const [api, clock] = [new FakeKubernetes(), new FakeClock()];
  installSecret(api);
  const replica = startReplica(t, api, clock);
  await until(() => replica.served.length > 0);
  t.notOk(api.requests.some((one) => one.startsWith("PATCH")), "a missing configuration is not an error");
  installConfigurations(api);
  await until(() => isPublished(api));
  t.same(eventReasons(api), ["CertificatesCreated"], "the first caBundle restores nothing");
  const version = api.object(MUTATING);
  installConfigurations(api);
  await until(() => isPublished(api));
  t.not(api.object(MUTATING), version);
  await until(() => eventReasons(api).includes("CABundleRestored"));
  t.match(await replica.registry.metrics(), /certificate_writes_total{step="restore-bundle",outcome="ok"} [12]\n/);
});

test("keeps the certificate while the Secret is invalid, and repairs the Secret", async (t) => {
  const [api, clock] = [new FakeKubernetes(), new FakeClock()];
  installSecret(api);
  installConfigurations(api);
  const replica = startReplica(t, api, clock);
  await until(() => isPublished(api));
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
  await until(isRepaired);
  t.equal(replica.served.length, 1);
  t.same(bundles(api), [entry(api, "ca.crt")]);
  const rejections = replica.lines.filter((line) => line.includes("new serving certificate rejected"));
  t.equal(rejections.length, 4, "each fault is logged once");
  const events = [...api.objects].filter(([path]) => path.startsWith(EVENTS));
  const outputs = [...replica.lines, JSON.stringify(events), await replica.registry.metrics()].join("\n");
  const secrets = [planted, ...["tls.key", "ca.key"].flatMap((key) => entry(api, key).split("\n").slice(1, -2))];
  t.notOk(secrets.some((secret) => outputs.includes(secret)), "no key is in the log, a metric or an Event");
  t.notOk(secrets.some((secret) => outputs.includes(Buffer.from(secret).toString("base64"))));
});

test("reports a rejected write once and retries it, and counts an Event that cannot be written", async (t) => {
  const [api, clock] = [new FakeKubernetes(), new FakeClock()];
  installSecret(api);
  installConfigurations(api);
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
    level: "error", activity: "write", secret: "ack-role-resolver/tls",
    fault: `PUT ${SECRET}: the API server returned 403 (Fake); `
      + "apply the objects of `ack-role-resolver manifests rbac`",
  }, "the message of the API server, which quotes the request, is not logged");
  t.match(await replica.registry.metrics(), /certificate_writes_total{step="any",outcome="fault"} 1\n/);
  api.rejected.delete(`PUT ${SECRET}`);
  clock.advance(10_000);
  await until(() => replica.served.length === 1);
  await until(() => replica.lines.some((line) => line.includes("Event could not be written")));
  t.match(await replica.registry.metrics(), /webhook_events_total{outcome="failed"} 1\n/);
});

test("does not change a Secret that cert-manager writes", async (t) => {
  const [api, clock] = [new FakeKubernetes(), new FakeClock()];
  const annotations = { "cert-manager.io/certificate-name": "webhook" };
  api.put(SECRET, { kind: "Secret", metadata: { namespace: "ack-role-resolver", name: "tls", annotations } });
  installConfigurations(api);
  const replica = startReplica(t, api, clock);
  await until(() => replica.lines.some((line) => line.includes("mount the Secret and use --tls-dir instead")));
  t.notOk(api.requests.some((one) => one.startsWith("PUT /api/v1") || one.startsWith("PATCH")));
});

test("writes an Event if the certificate was not renewed in time", async (t) => {
  const [api, clock] = [new FakeKubernetes(), new FakeClock()];
  installSecret(api);
  const replica = startReplica(t, api, clock);
  await until(() => replica.served.length === 1);
  api.rejected.set(`PUT ${SECRET}`, 500);
  clock.advance(26 * DAY_MS);
  await until(() => eventReasons(api).includes("CertificateExpiring"));
  const note = /The serving certificate expires at 2026-01-31T.* was not renewed/;
  t.match(JSON.stringify([...api.objects.values()]), note);
  clock.advance(30 * MINUTE_MS);
  for (let text = ""; !text.includes('events_total{outcome="limited"}');) text = await replica.registry.metrics();
  const expiring = eventReasons(api).filter((reason) => reason === "CertificateExpiring");
  t.equal(expiring.length, 1, "at most one Event per hour");
});

test("when the names change, rotates the CA, because the name constraints do not permit the new name", async (t) => {
  const [api, clock] = [new FakeKubernetes(), new FakeClock()];
  installSecret(api);
  installConfigurations(api);
  const before = startReplica(t, api, clock);
  await until(() => isPublished(api));
  await before.manager.close();
  t.match(api.object(LEASE), { spec: { holderIdentity: "" } }, "a stopped replica releases the Lease");
  const hosts = ["ack-role-resolver-webhook.ack-role-resolver.svc", "new.example.com"];
  const after = startReplica(t, api, clock, { identity: "second", hosts });
  await advanceUntil(clock, () => after.served.length === 2);
  t.ok(new X509Certificate(lastServed(after) ?? "").checkHost("new.example.com"));
});

test("does not overwrite a Secret that another leader changes while a caBundle is written", async (t) => {
  const [api, clock] = [new FakeKubernetes(), new FakeClock()];
  installSecret(api);
  installConfigurations(api);
  const replica = startReplica(t, api, clock);
  await until(() => isPublished(api));
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
  await advanceUntil(clock, () => replica.served.length === 2);
  t.match(await replica.registry.metrics(), /certificate_writes_total{step="issue",outcome="conflict"} 1\n/);
  t.match(api.object(SECRET), { metadata: { labels: { by: "other" } } });
});
