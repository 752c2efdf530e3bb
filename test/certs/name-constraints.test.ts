import { X509Certificate } from "node:crypto";
import { createServer } from "node:https";
import { once } from "node:events";
import { connect } from "node:tls";
import { type Test, test } from "tap";
import { type CertificateAndKey, issueCertificate, makeAuthority, makeCertificates } from "../../certs/make.ts";
import { constraintsOf, permitsOnly } from "../../certs/name-constraints.ts";
import { boundAddress } from "../../shared/server/listen-address.ts";

const DAY_MS = 86_400_000;
const now = new Date();
const lifetime = { now, notAfter: new Date(now.getTime() + 10 * DAY_MS) };

/** Connects to a server that has the certificate. Resolves to "ok", or to the error message of the TLS client. */
async function verify(t: Test, ca: string, { cert, key }: CertificateAndKey, servername: string): Promise<string> {
  const server = createServer({ cert, key }).listen(0, "127.0.0.1");
  t.teardown(() => server.close());
  await once(server, "listening");
  const socket = connect({ host: "127.0.0.1", port: boundAddress(server).port, ca, servername });
  const { promise, resolve } = Promise.withResolvers<string>();
  socket.once("secureConnect", () => resolve("ok")).once("error", (error) => {
    resolve(error.message);
  });
  const result = await promise;
  socket.destroy();
  return result;
}

test("a client rejects a certificate of the CA for a name that the CA does not permit", async (t) => {
  const names = ["hook.team.svc", "hook.team.svc.cluster.local"];
  const authority = await makeAuthority({ ...lifetime, names });
  const [own, other] = await Promise.all([
    issueCertificate(authority, { ...lifetime, hosts: names }),
    issueCertificate(authority, { ...lifetime, hosts: ["kubernetes.default.svc"] }),
  ]);
  t.equal(await verify(t, authority.cert, own, "hook.team.svc"), "ok");
  t.equal(await verify(t, authority.cert, other, "kubernetes.default.svc"), "permitted subtree violation");
  const address = await issueCertificate(authority, { ...lifetime, hosts: ["hook.team.svc", "10.0.0.1"] });
  t.equal(await verify(t, authority.cert, address, "hook.team.svc"), "excluded subtree violation");
});

test("a CA for an address permits only the address, and no DNS name", async (t) => {
  const authority = await makeAuthority({ ...lifetime, names: ["127.0.0.1", "::1", "fd00::12:1"] });
  const own = await issueCertificate(authority, { ...lifetime, hosts: ["127.0.0.1", "::1", "fd00::12:1"] });
  t.equal(await verify(t, authority.cert, own, ""), "ok");
  const neighbor = await issueCertificate(authority, { ...lifetime, hosts: ["127.0.0.1", "127.0.0.2"] });
  t.equal(await verify(t, authority.cert, neighbor, ""), "permitted subtree violation");
  const named = await issueCertificate(authority, { ...lifetime, hosts: ["127.0.0.1", "kubernetes.default.svc"] });
  t.equal(await verify(t, authority.cert, named, ""), "excluded subtree violation");
});

test("permitsOnly compares the name constraints with the names, in any order", async (t) => {
  const { cert } = await makeAuthority({ ...lifetime, names: ["b.svc", "a.svc"] });
  t.equal(permitsOnly(cert, ["a.svc", "b.svc"]), true);
  t.equal(permitsOnly(cert, ["a.svc"]), false);
  t.equal(permitsOnly(cert, ["a.svc", "b.svc", "c.svc"]), false);
  const { ca } = await makeCertificates({ hosts: ["a.svc"], now });
  t.equal(permitsOnly(ca, ["c.svc"]), false, "a CA without name constraints permits every name");
  t.equal(constraintsOf(ca), null);
  t.equal(constraintsOf("-----BEGIN CERTIFICATE-----\ngarbage"), null);
});

test("an issued certificate does not outlive its CA", async (t) => {
  const authority = await makeAuthority({ ...lifetime, names: ["a.svc"] });
  const hosts = ["a.svc"];
  const long = await issueCertificate(authority, { now, notAfter: new Date(now.getTime() + 30 * DAY_MS), hosts });
  t.equal(new X509Certificate(long.cert).validTo, new X509Certificate(authority.cert).validTo);
  const short = await issueCertificate(authority, { now, notAfter: new Date(now.getTime() + DAY_MS), hosts });
  t.equal(Math.round((new X509Certificate(short.cert).validToDate.getTime() - now.getTime()) / DAY_MS), 1);
});
