import { join } from "node:path";
import { test } from "tap";
import { readServingPair } from "../../certs/certificate-files.ts";
import { makePairs } from "./pairs.ts";

const [pair, other] = await makePairs();
const now = new Date();
const fix = "create a certificate and key with `ack-role-resolver certs make --dir DIR --host NAME`";

test("reads a valid certificate and key, and returns the expiration", async (t) => {
  const dir = t.testdir({ "tls.crt": pair.cert, "tls.key": pair.key });
  const read = await readServingPair(dir, now);
  t.equal(read.cert, pair.cert);
  t.equal(read.key, pair.key);
  t.ok(Math.abs(read.notAfter.getTime() - now.getTime() - 30 * 86_400_000) < 60_000);
});

test("rejects missing files and names each missing file", async (t) => {
  const dir = t.testdir({});
  await t.rejects(readServingPair(dir, now), {
    code: "ERR_CONFIG_TLS_MISSING",
    message: `${join(dir, "tls.crt")}: no such file; ${fix}\n${join(dir, "tls.key")}: no such file; ${fix}`,
  });
  const half = t.testdir({ "tls.crt": pair.cert, "tls.key": {} });
  await t.rejects(readServingPair(half, now), {
    code: "ERR_CONFIG_TLS_MISSING",
    message: `${join(half, "tls.key")}: cannot be read; ${fix}`,
  });
});

test("rejects a key that does not match the certificate", async (t) => {
  const dir = t.testdir({ "tls.crt": pair.cert, "tls.key": other.key });
  await t.rejects(readServingPair(dir, now), {
    code: "ERR_CONFIG_TLS_MISMATCH",
    message:
      `${join(dir, "tls.key")}: not the private key of the certificate in ${join(dir, "tls.crt")}; ` +
      `store a certificate and its matching key, or ${fix}`,
  });
});

test("names each file that is not PEM, but does not quote its content", async (t) => {
  const dir = t.testdir({ "tls.crt": "planted-secret", "tls.key": "planted-secret" });
  const error = await readServingPair(dir, now).catch((fault: unknown) => fault);
  t.match(error, {
    code: "ERR_CONFIG_TLS_INVALID",
    message:
      `${join(dir, "tls.crt")}: not a PEM certificate; ${fix}\n` +
      `${join(dir, "tls.key")}: not a PEM private key without a passphrase; ${fix}`,
  });
  t.notMatch(String(error), "planted-secret");
});

test("rejects an expired or not yet valid certificate, and accepts it one second before it expires", async (t) => {
  const dir = t.testdir({ "tls.crt": pair.cert, "tls.key": pair.key });
  const { notAfter } = await readServingPair(dir, now);
  t.ok(await readServingPair(dir, new Date(notAfter.getTime() - 1000)));
  await t.rejects(readServingPair(dir, notAfter), {
    code: "ERR_CONFIG_TLS_INVALID",
    message: `${join(dir, "tls.crt")}: expired at ${notAfter.toISOString()}; ${fix}`,
  });
  await t.rejects(readServingPair(dir, new Date(0)), {
    code: "ERR_CONFIG_TLS_INVALID", message: /not valid before .*; check this machine's clock$/,
  });
});
