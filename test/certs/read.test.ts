import { join } from "node:path";
import { test } from "tap";
import { readServingPair } from "../../certs/read.ts";
import { makePairs } from "./pairs.ts";

const [pair, other] = await makePairs();
const now = new Date();
const hint = "`ack-role-resolver certs make --dir DIR --host NAME` makes a pair";

test("a good pair is read with the end of its validity", async (t) => {
  const dir = t.testdir({ "tls.crt": pair.cert, "tls.key": pair.key });
  const read = await readServingPair(dir, now);
  t.equal(read.cert, pair.cert);
  t.equal(read.key, pair.key);
  t.ok(Math.abs(read.notAfter.getTime() - now.getTime() - 30 * 86_400_000) < 60_000);
});

test("files that are absent are all named", async (t) => {
  const dir = t.testdir({});
  await t.rejects(readServingPair(dir, now), {
    code: "ERR_CONFIG_TLS_MISSING",
    message: `${join(dir, "tls.crt")}: there is no such file; ${hint}\n${join(dir, "tls.key")}: there is no such file; ${hint}`,
  });
  const half = t.testdir({ "tls.crt": pair.cert, "tls.key": {} });
  await t.rejects(readServingPair(half, now), {
    code: "ERR_CONFIG_TLS_MISSING",
    message: `${join(half, "tls.key")}: cannot be read; ${hint}`,
  });
});

test("a key of another pair is a mismatch", async (t) => {
  const dir = t.testdir({ "tls.crt": pair.cert, "tls.key": other.key });
  await t.rejects(readServingPair(dir, now), {
    code: "ERR_CONFIG_TLS_MISMATCH",
    message:
      `${join(dir, "tls.key")}: not the private key of the certificate in ${join(dir, "tls.crt")}; ` +
      `put both files of one pair there, or ${hint}`,
  });
});

test("what is not PEM is named, file by file, and never quoted", async (t) => {
  const dir = t.testdir({ "tls.crt": "planted-secret", "tls.key": "planted-secret" });
  const error = await readServingPair(dir, now).catch((fault: unknown) => fault);
  t.match(error, {
    code: "ERR_CONFIG_TLS_INVALID",
    message:
      `${join(dir, "tls.crt")}: not a PEM certificate; ${hint}\n` +
      `${join(dir, "tls.key")}: not a PEM private key without a passphrase; ${hint}`,
  });
  t.notMatch(String(error), "planted-secret");
});

test("outside its validity a pair does not serve; a second inside it does", async (t) => {
  const dir = t.testdir({ "tls.crt": pair.cert, "tls.key": pair.key });
  const { notAfter } = await readServingPair(dir, now);
  t.ok(await readServingPair(dir, new Date(notAfter.getTime() - 1000)));
  await t.rejects(readServingPair(dir, notAfter), {
    code: "ERR_CONFIG_TLS_INVALID",
    message: `${join(dir, "tls.crt")}: expired at ${notAfter.toISOString()}; ${hint}`,
  });
  await t.rejects(readServingPair(dir, new Date(0)), { code: "ERR_CONFIG_TLS_INVALID", message: /not valid before .*; check this machine's clock$/ });
});
