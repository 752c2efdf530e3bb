import { GetCallerIdentityCommand } from "@aws-sdk/client-sts";
import { type Test, test } from "tap";
import type { SigningCredentials } from "../../../sidecar/credentials/session.ts";
import { STSConnection } from "../../../sidecar/sts-upstream/connection.ts";
import { type Fake, startFake, stsError, stsResult } from "../loopback-providers.ts";

const IDENTITY = stsResult("GetCallerIdentity", "<Arn>a</Arn><UserId>u</UserId><Account>111122223333</Account>");
const SKEWED = stsError("SignatureDoesNotMatch", "Signature expired");
const MINUTE = 60_000;

interface Recorder extends Fake {
  /** How far its clock is ahead of the local clock, in ms. It rejects signatures that differ by over 15 minutes. */
  aheadMs: number;
  readonly connection: STSConnection;
}

/** Starts an STS with a clock. */
async function startRecorder(t: Test): Promise<Recorder> {
  const skew = { aheadMs: 0 };
  const fake = await startFake(t, ({ headers }) => {
    const nowMs = Date.now() + skew.aheadMs;
    const iso = String(headers["x-amz-date"]).replace(/^(....)(..)(..T..)(..)(..Z)$/, "$1-$2-$3:$4:$5");
    const isSkewed = Math.abs(Date.parse(iso) - nowMs) > 15 * MINUTE;
    const date = { "content-type": "text/xml", date: new Date(nowMs).toUTCString() };
    return { status: isSkewed ? 403 : 200, body: isSkewed ? SKEWED : IDENTITY, headers: date };
  });
  return Object.assign(skew, fake, { connection: new STSConnection({ endpoint: fake.url, region: "eu-west-1" }) });
}

function signerOf(id: string, secret = "secret"): SigningCredentials {
  return { accessKeyID: `ASIA${id}`, secretAccessKey: secret, sessionToken: `token-${id}`, expirationMs: null };
}

function callWith(connection: STSConnection, signer: SigningCredentials | null): Promise<unknown> {
  return connection.send(signer, (client) => client.send(new GetCallerIdentityCommand({})));
}

/** Returns the access key ID and the signature of a request. */
function signatureOf({ headers }: Fake["requests"][number]): readonly [id: string, signature: string] {
  const text = String(headers["authorization"]);
  return [/Credential=(\w+)\//.exec(text)?.[1] ?? "", /Signature=(\w+)/.exec(text)?.[1] ?? ""];
}

test("50 calls of 10 alternating signers, 5 at a time, share at most 5 sockets", async (t) => {
  const recorder = await startRecorder(t);
  const { connection } = recorder;
  for (let round = 0; round < 10; round++) {
    const signers = Array.from({ length: 5 }, (_, i) => signerOf(String((round * 5 + i) % 10)));
    await Promise.all(signers.map((signer) => callWith(connection, signer)));
  }
  t.equal(recorder.requests.length, 50);
  t.ok(recorder.sockets() <= 5, `${recorder.sockets()} sockets`);
  const ids = recorder.requests.map((request) => signatureOf(request)[0]);
  t.equal(new Set(ids).size, 10, "each signer signs its own calls");
  t.ok(recorder.requests.every(({ headers }, i) => headers["x-amz-security-token"] === `token-${ids[i]?.slice(4)}`));
});

test("reuses the pool of sockets after it has evicted the first client", async (t) => {
  const recorder = await startRecorder(t);
  const { connection } = recorder;
  for (let i = 0; i < 40; i++) await callWith(connection, signerOf(String(i)));
  await callWith(connection, signerOf("0"));
  t.equal(recorder.requests.length, 41);
  t.equal(recorder.sockets(), 1);
});

test("signs with the new secret of an access key whose ID is unchanged", async (t) => {
  const recorder = await startRecorder(t);
  const { connection } = recorder;
  await callWith(connection, signerOf("0", "wrong"));
  await callWith(connection, signerOf("0", "corrected"));
  const [wrong, corrected] = recorder.requests.map(signatureOf);
  t.equal(wrong?.[0], corrected?.[0]);
  t.not(wrong?.[1], corrected?.[1]);
});

test("all signers share the measured clock offset, so only the first call is rejected and repeated", async (t) => {
  const recorder = await startRecorder(t);
  recorder.aheadMs = 20 * MINUTE;
  const { connection } = recorder;
  for (let i = 0; i < 20; i++) await callWith(connection, signerOf(String(i % 5)));
  t.equal(recorder.requests.length, 21);
  t.ok(Math.abs(connection.clockLagMs - 20 * MINUTE) < 5_000, `${connection.clockLagMs} ms`);
  recorder.aheadMs = 0;
  for (let i = 0; i < 20; i++) await callWith(connection, signerOf(String(i % 5)));
  t.equal(recorder.requests.length, 42, "the clock was set back: one more call is repeated");
  t.ok(connection.clockLagMs < 5_000);
});

test("never signs a call without a signer", async (t) => {
  const recorder = await startRecorder(t);
  const env = { AWS_ACCESS_KEY_ID: "AKIAPLANTED", AWS_SECRET_ACCESS_KEY: "planted" };
  t.intercept(process, "env", { value: env });
  const { connection } = recorder;
  await t.rejects(callWith(connection, null), { message: "A call without a signer must not be signed." });
  t.same(recorder.requests, []);
});
