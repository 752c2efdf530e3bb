import { X509Certificate } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { test } from "tap";
import { runCommand } from "./run-command.ts";

test("certs make writes a CA and a serving certificate for every host, and prints the file paths", async (t) => {
  const dir = path.join(t.testdir(), "tls");
  const hosts = ["--host", "webhook.example", "--host", "127.0.0.1"];
  const { status, stdout } = await runCommand(["certs", "make", "--dir", dir, ...hosts]);
  t.equal(status, 0);
  t.equal(stdout, ["ca.crt", "tls.crt", "tls.key"].map((file) => `${path.join(dir, file)}\n`).join(""));
  const certificate = new X509Certificate(readFileSync(path.join(dir, "tls.crt")));
  t.equal(certificate.subjectAltName, "DNS:webhook.example, IP Address:127.0.0.1");
  t.ok(certificate.verify(new X509Certificate(readFileSync(path.join(dir, "ca.crt"))).publicKey));
  t.equal(statSync(path.join(dir, "tls.key")).mode & 0o777, 0o600);
  t.same(readdirSync(dir).toSorted(), ["ca.crt", "tls.crt", "tls.key"], "the CA key is not stored");
});

test("certs make does not replace existing files", async (t) => {
  const dir = t.testdir({ "tls.key": "mine" });
  const { status, stderr } = await runCommand(["certs", "make", "--dir", dir, "--host", "a.example"]);
  t.equal(status, 2);
  t.match(stderr, /tls\.key: already exists; set --dir to another folder, or delete the files first\n/);
  t.equal(readFileSync(path.join(dir, "tls.key"), "utf8"), "mine");
});

test("certs make reports all missing and malformed flags", async (t) => {
  const { status, stderr } = await runCommand(["certs", "make"]);
  t.equal(status, 2);
  t.match(stderr, /^ack-role-resolver: --dir: required[^]*\nack-role-resolver: --host: required/);
  const dir = path.join(t.testdir(), "tls");
  const malformed = await runCommand(["certs", "make", "--dir", dir, "--host", "a b", "--host", "*"]);
  t.equal(malformed.status, 2);
  t.match(malformed.stderr, /"a b"[^]*"\*"/);
});
