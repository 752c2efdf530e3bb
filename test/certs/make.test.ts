import { createPrivateKey, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { connect, createServer } from "node:tls";
import { test } from "tap";
import { makeCertificates } from "../../certs/make.ts";
import { boundAddress } from "../../shared/server/listen-address.ts";

const now = new Date("2026-03-01T12:00:00Z");

test("creates a serving certificate that covers every host, is signed by the CA, and matches its key", async (t) => {
  const hosts = ["webhook.ack.svc", "*.example.com", "127.0.0.1", "::1"];
  const { ca, cert, key } = await makeCertificates({ hosts, days: 7, now });
  const authority = new X509Certificate(ca);
  const certificate = new X509Certificate(cert);
  const addresses = "IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1";
  t.equal(certificate.subjectAltName, `DNS:webhook.ack.svc, DNS:*.example.com, ${addresses}`);
  t.equal(certificate.validToDate.toISOString(), "2026-03-08T12:00:00.000Z");
  t.equal(certificate.validFromDate.toISOString(), "2026-03-01T11:55:00.000Z");
  t.equal(certificate.ca, false);
  t.equal(authority.ca, true);
  t.same(certificate.keyUsage, ["1.3.6.1.5.5.7.3.1"], "the extended key usage is only serverAuth");
  t.ok(certificate.verify(authority.publicKey));
  t.ok(certificate.checkIssued(authority));
  t.ok(certificate.checkPrivateKey(createPrivateKey(key)));
  t.notOk(authority.checkPrivateKey(createPrivateKey(key)), "the CA and the serving certificate have different keys");
  t.equal(createPrivateKey(key).asymmetricKeyDetails?.modulusLength, 2048);
});

test("creates new keys and serial numbers in each run", async (t) => {
  const [a, b] = await Promise.all([makeCertificates({ hosts: ["a"], now }), makeCertificates({ hosts: ["a"], now })]);
  t.not(a.key, b.key);
  t.not(new X509Certificate(a.cert).serialNumber, new X509Certificate(b.cert).serialNumber);
  t.equal(
    new X509Certificate(a.cert).validToDate.toISOString(),
    "2027-03-01T12:00:00.000Z",
    "the default lifetime is 365 days",
  );
  t.notOk(new X509Certificate(a.cert).verify(new X509Certificate(b.ca).publicKey));
});

test("a TLS client that trusts the CA accepts only the host names in the certificate", async (t) => {
  const { ca, cert, key } = await makeCertificates({ hosts: ["localhost", "127.0.0.1"], now: new Date() });
  const server = createServer({ cert, key }, (socket) => socket.end()).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => server.close());
  const { port } = boundAddress(server);
  const handshake = async (servername: string): Promise<boolean> => {
    const socket = connect({ host: "127.0.0.1", port, ca, servername });
    await once(socket, "secureConnect");
    socket.destroy();
    return socket.authorized;
  };
  t.equal(await handshake("localhost"), true);
  await t.rejects(handshake("other.example.com"), { code: "ERR_TLS_CERT_ALTNAME_INVALID" });
});

test("reports all invalid hosts in one error", async (t) => {
  await t.rejects(makeCertificates({ hosts: ["fine", "not fine", "a..b", "-x", ""], days: 0, now }), {
    code: "ERR_CONFIG_INVALID",
    message: [
      `--host "not fine": expected a DNS name such as webhook.example.com, or an IP address`,
      `--host "a..b": expected a DNS name such as webhook.example.com, or an IP address`,
      `--host "-x": expected a DNS name such as webhook.example.com, or an IP address`,
      `--host "": expected a DNS name such as webhook.example.com, or an IP address`,
      "--days 0: expected a whole number of days, 1 or more",
    ].join("\n"),
  });
  await t.rejects(makeCertificates({ hosts: [], now }), {
    message: "--host: expected at least one DNS name or IP address of the server",
  });
});
