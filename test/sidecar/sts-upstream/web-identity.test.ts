import { type Test, test } from "tap";
import { NO_EXTRAS, type SessionRequest } from "../../../shared/core/session.ts";
import { CircuitBreaker } from "../../../sidecar/sts-upstream/circuit-breaker.ts";
import { createSTS, type STS } from "../../../sidecar/sts-upstream/client.ts";
import { FakeClock } from "../fake-clock.ts";
import { type Fake, startFake, stsError, stsResult } from "../loopback-providers.ts";

const ACTION = "AssumeRoleWithWebIdentity";
const TOKEN = "plantedheader.plantedpayload.plantedsignature";
const REQUEST: SessionRequest = {
  ...NO_EXTRAS, roleARN: "arn:aws:iam::111122223333:role/capa", sessionName: "ack-role-resolver", durationSeconds: 7200,
  policy: null, policyARNs: [], transitiveTagKeys: [],
};

interface Started {
  readonly sts: STS;
  readonly fake: Fake;
  readonly calls: string[];
}

/** Starts an STS that returns a session, or the error `code`. */
async function start(t: Test, code: string | null = null, status = 400): Promise<Started> {
  const message = `No: ${TOKEN}, plantedheader.plantedpayload, plantedpayload`;
  const fake = await startFake(t, () => (
    code === null ? { status: 200, body: stsResult(ACTION, session()) } : { status, body: stsError(code, message) }
  ));
  const calls: string[] = [];
  const onCall = (action: string, result: string): void => void calls.push(`${action} ${result}`);
  return { sts: createSTS({ endpoint: fake.url, region: null, onCall }), fake, calls };
}

const USER_ID = "AROA:ack-role-resolver";

function session(): string {
  const keys = "<AccessKeyId>ASIAWEB</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>";
  const expiration = `<Expiration>${new Date(Date.now() + 7_200_000).toISOString()}</Expiration>`;
  const arn = "arn:aws:sts::111122223333:assumed-role/capa/ack-role-resolver";
  const user = `<AssumedRoleUser><Arn>${arn}</Arn><AssumedRoleId>${USER_ID}</AssumedRoleId></AssumedRoleUser>`;
  return `<Credentials>${keys}${expiration}</Credentials>${user}<PackedPolicySize>6</PackedPolicySize>`;
}

function never(): AbortSignal {
  return new AbortController().signal;
}

test("assumes a role with a token, and does not sign the call", async (t) => {
  t.intercept(process, "env", { value: { AWS_ACCESS_KEY_ID: "AKIAPLANTED", AWS_SECRET_ACCESS_KEY: "planted" } });
  const { sts, fake, calls } = await start(t);
  const policyARNs = ["arn:aws:iam::aws:policy/ReadOnlyAccess"];
  const assumed = await sts.assumeRoleWithWebIdentity(TOKEN, { ...REQUEST, policy: "{}", policyARNs }, never());
  t.match(assumed, {
    accessKeyID: "ASIAWEB", secretAccessKey: "s", sessionToken: "t", accountID: "111122223333", userID: USER_ID,
    arn: "arn:aws:sts::111122223333:assumed-role/capa/ack-role-resolver", packedPolicySize: 6,
  });
  t.ok(Math.abs((assumed.expirationMs ?? 0) - Date.now() - 7_200_000) < 10_000);
  t.same(fake.requests.map(({ body }) => Object.fromEntries(new URLSearchParams(body))), [{
    Action: ACTION, Version: "2011-06-15", RoleArn: REQUEST.roleARN, RoleSessionName: REQUEST.sessionName,
    DurationSeconds: "7200", Policy: "{}", "PolicyArns.member.1.arn": policyARNs[0], WebIdentityToken: TOKEN,
  }]);
  const { authorization, "x-amz-security-token": sessionToken } = fake.requests[0]?.headers ?? {};
  t.same([authorization, sessionToken], [undefined, undefined]);
  t.same(calls, [`${ACTION} ok`]);
});

/** The error codes that AWS documents for the action, and how the sidecar treats them. */
const ERRORS: readonly (readonly [code: string, status: number, expected: string, metric: string])[] = [
  ["AccessDenied", 403, "ERR_STS_REFUSED", "AccessDenied"],
  ["IDPRejectedClaim", 403, "ERR_STS_REFUSED", "IDPRejectedClaim"],
  ["InvalidIdentityToken", 400, "ERR_STS_REFUSED", "InvalidIdentityToken"],
  ["MalformedPolicyDocument", 400, "ERR_STS_REFUSED", "MalformedPolicyDocument"],
  ["PackedPolicyTooLarge", 400, "ERR_STS_REFUSED", "PackedPolicyTooLarge"],
  ["RegionDisabledException", 403, "ERR_STS_REFUSED", "RegionDisabledException"],
  ["ExpiredTokenException", 400, "ERR_STS_UNAVAILABLE", "ExpiredTokenException"],
  ["ExpiredToken", 400, "ERR_STS_UNAVAILABLE", "ExpiredToken"],
  ["IDPCommunicationError", 400, "ERR_STS_UNAVAILABLE", "IDPCommunicationError"],
];

for (const [code, status, expected, metric] of ERRORS) {
  test(`reports ${code} as ${expected}, without the token, and keeps the circuit closed`, async (t) => {
    const { sts, calls } = await start(t, code, status);
    const circuit = new CircuitBreaker({ clock: new FakeClock() });
    for (let i = 0; i < 5; i++) {
      const call = circuit.run(() => sts.assumeRoleWithWebIdentity(TOKEN, REQUEST, never()));
      const error: unknown = await call.catch((reason: unknown) => reason);
      t.match(error, { code: expected, stsCode: code });
      t.match(String(error), `STS returned ${code} for ${ACTION}: No: [redacted], [redacted], [redacted]`);
      t.notMatch(String(error), "planted");
    }
    t.equal(circuit.state, "closed");
    t.equal(calls[0], `${ACTION} ${metric}`);
  });
}

test("throttling and server errors open the circuit as for AssumeRole", async (t) => {
  for (const [code, status] of [["Throttling", 400], ["InternalFailure", 500]] as const) {
    const { sts } = await start(t, code, status);
    const circuit = new CircuitBreaker({ clock: new FakeClock() });
    for (let i = 0; i < 5; i++) {
      const call = circuit.run(() => sts.assumeRoleWithWebIdentity(TOKEN, REQUEST, never()));
      await t.rejects(call, { code: "ERR_STS_UNAVAILABLE" });
    }
    t.equal(circuit.state, "open", code);
  }
});
