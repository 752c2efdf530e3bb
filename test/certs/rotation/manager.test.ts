import { X509Certificate } from "node:crypto";
import { test } from "tap";
import {
  advanceUntil, annotate, bundles, entry, eventReasons, installed, isPublished, isServed, LEASE, running, SECRET,
  served, startReplica, until,
} from "./replica-fixture.ts";
import { DAY_MS } from "./stored.ts";

const MINUTE_MS = 60_000;

test("the leader creates the certificates, and stores only the serving certificate for the webhook", async (t) => {
  const { api, clock } = installed();
  const first = startReplica(t, api, clock);
  startReplica(t, api, clock, { identity: "second" });
  await until(() => isServed(api) && isPublished(api));
  const certificate = new X509Certificate(entry(api, "tls.crt"));
  t.ok(certificate.checkHost("ack-role-resolver-webhook.ack-role-resolver.svc"));
  t.ok(certificate.verify(new X509Certificate(entry(api, "ca.crt")).publicKey));
  t.equal(certificate.validToDate.getTime() - clock.now(), 30 * DAY_MS);
  t.match(await first.registry.metrics(), /certificates_ca_expiry_timestamp_seconds 1798761600\n/);
  t.same(api.requests.filter((one) => one === `PUT ${SECRET}`).length, 1, "only the leader writes the Secret");
});

test("renews the certificate, and rotates the CA in steps in which the API server trusts both CAs", async (t) => {
  const { api, clock } = await running(t);
  const oldCA = entry(api, "ca.crt");
  clock.advance(20 * DAY_MS);
  await until(() => served(api).length === 2);
  t.equal(entry(api, "ca.crt"), oldCA, "only the certificate is new");

  annotate(api, "ca");
  await until(() => entry(api, "next-ca.crt") !== "" && bundles(api).join("") === oldCA + entry(api, "next-ca.crt"));
  const nextCA = entry(api, "next-ca.crt");
  t.equal(served(api).length, 2, "the next CA signs nothing yet");
  const publishedMs = await advanceUntil(clock, () => entry(api, "ca.crt") === nextCA);
  t.ok(publishedMs >= MINUTE_MS, `signed after ${publishedMs} ms`);
  await until(() => served(api).length === 3 && bundles(api).join("") === nextCA + oldCA);
  t.equal(entry(api, "next-ca.key"), "");
  const retiredMs = await advanceUntil(clock, () => entry(api, "previous-ca.crt") === "");
  t.ok(retiredMs >= 9 * MINUTE_MS, `removed after ${retiredMs} ms`);
  await until(() => bundles(api).join("") === nextCA);
  t.same(eventReasons(api), [
    "CertificatesCreated", "CABundleSet", "CertificateIssued", "CARotationStarted", "CARotated", "PreviousCARemoved",
  ]);
});

test("after a clock jump of 400 days, serves a new certificate of a new CA", async (t) => {
  const { api, clock } = await running(t);
  const oldCA = entry(api, "ca.crt");
  clock.advance(400 * DAY_MS);
  await until(() => served(api).length === 2);
  const certificate = new X509Certificate(served(api).at(-1) ?? "");
  t.ok(certificate.validToDate.getTime() > clock.now());
  t.not(entry(api, "ca.crt"), oldCA);
  await until(() => bundles(api).join("").startsWith(entry(api, "ca.crt")));
});

test("two leaders at the same time never lose a CA that signed a served certificate", async (t) => {
  const { api, clock } = installed();
  // No replica can read or see the Lease of another one.
  const solitary = { request: api.request.bind(api) };
  api.request = async (request) => {
    if (!request.path.startsWith(LEASE.slice(0, LEASE.lastIndexOf("/")))) return await solitary.request(request);
    api.objects.delete(LEASE);
    return await solitary.request(request);
  };
  const replicas = ["a", "b"].map((identity) => startReplica(t, api, clock, { identity }));
  await until(() => isServed(api));
  for (let count = 0; count < 2; count += 1) {
    const before = entry(api, "ca.crt");
    annotate(api, "ca");
    const isRotated = (): boolean => entry(api, "ca.crt") !== before && entry(api, "previous-ca.crt") === "";
    await advanceUntil(clock, isRotated);
  }
  const both = await Promise.all(replicas.map(({ registry }) => registry.metrics()));
  t.ok(both.every((text) => text.includes("\nack_role_resolver_certificates_leader 1")), "both are leaders");
  t.match(both.join(""), /outcome="conflict"} [1-9]/, "they wrote the same object");
  const versions = api.history.filter(({ data }) => Object.hasOwn(Object(data), "ca.key"));
  const sets = versions.map(({ data }) => {
    const text = (key: string): string => Buffer.from(String(Object(data)[key] ?? ""), "base64").toString("utf8");
    return { trusted: text("ca.crt") + text("next-ca.crt") + text("previous-ca.crt"), ca: text("ca.crt") };
  });
  for (const [index, { trusted }] of sets.entries()) {
    const before = sets[index - 1];
    if (before !== undefined) t.ok(trusted.includes(before.ca), `version ${index} contains the CA before it`);
  }
});

test("when the names change, rotates the CA, because the name constraints do not permit the new name", async (t) => {
  const { api, clock, manager } = await running(t);
  await manager.close();
  t.match(api.object(LEASE), { spec: { holderIdentity: "" } }, "a stopped replica releases the Lease");
  const hosts = ["ack-role-resolver-webhook.ack-role-resolver.svc", "new.example.com"];
  startReplica(t, api, clock, { identity: "second", hosts });
  await advanceUntil(clock, () => served(api).length === 2);
  t.match(bundles(api).join(""), entry(api, "ca.crt"));
  t.ok(new X509Certificate(served(api).at(-1) ?? "").checkHost("new.example.com"));
});
