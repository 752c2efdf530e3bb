import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { text } from "node:stream/consumers";
import { type Test, test } from "tap";
import { NO_EXTRAS, type SessionRequest } from "../../../shared/model/session.ts";
import { boundAddress } from "../../../shared/server/listen-address.ts";
import { CircuitBreaker } from "../../../sidecar/sts-upstream/circuit-breaker.ts";
import { createSTS, type STS } from "../../../sidecar/sts-upstream/client.ts";
import { FakeClock } from "../fake-clock.ts";

const XMLNS = "https://sts.amazonaws.com/doc/2011-06-15/";
const ACTION = "AssumeRoleWithWebIdentity";
const TOKEN = "plantedheader.plantedpayload.plantedsignature";
const REQUEST: SessionRequest = {
  ...NO_EXTRAS, roleARN: "arn:aws:iam::111122223333:role/capa", sessionName: "ack-role-resolver", durationSeconds: 7200,
  policy: null, policyARNs: [], transitiveTagKeys: [],
};

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly form: Readonly<Record<string, string>>;
}

interface Started {
  readonly sts: STS;
  readonly received: Received[];
  readonly calls: string[];
}

/** Starts an STS that returns a session, or the error `code`. */
async function start(t: Test, code: string | null = null, status = 400): Promise<Started> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      const form = Object.fromEntries(new URLSearchParams(await text(request)));
      received.push({ headers: request.headers, form });
      response.writeHead(code === null ? 200 : status, { "content-type": "text/xml" });
      response.end(code === null ? sessionBody() : errorBody(code));
    };
    void answer();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  const endpoint = `http://127.0.0.1:${boundAddress(server).port}`;
  const calls: string[] = [];
  const onCall = (action: string, result: string): void => void calls.push(`${action} ${result}`);
  return { sts: createSTS({ endpoint, region: null, onCall }), received, calls };
}

function sessionBody(): string {
  const keys = "<AccessKeyId>ASIAWEB</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>";
  const expiration = `<Expiration>${new Date(Date.now() + 7_200_000).toISOString()}</Expiration>`;
  const arn = "arn:aws:sts::111122223333:assumed-role/capa/ack-role-resolver";
  const user = `<AssumedRoleUser><Arn>${arn}</Arn><AssumedRoleId>AROA:ack</AssumedRoleId></AssumedRoleUser>`;
  return `<${ACTION}Response xmlns="${XMLNS}"><${ACTION}Result><Credentials>${keys}${expiration}</Credentials>${user}`
    + `<PackedPolicySize>6</PackedPolicySize></${ACTION}Result></${ACTION}Response>`;
}

function errorBody(code: string): string {
  const message = `No: ${TOKEN}, plantedheader.plantedpayload, plantedpayload`;
  return `<ErrorResponse xmlns="${XMLNS}"><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message>`
    + "</Error></ErrorResponse>";
}

function never(): AbortSignal {
  return new AbortController().signal;
}

test("assumes a role with a token, and does not sign the call", async (t) => {
  t.intercept(process, "env", { value: { AWS_ACCESS_KEY_ID: "AKIAPLANTED", AWS_SECRET_ACCESS_KEY: "planted" } });
  const { sts, received, calls } = await start(t);
  const policyARNs = ["arn:aws:iam::aws:policy/ReadOnlyAccess"];
  const session = await sts.assumeRoleWithWebIdentity(TOKEN, { ...REQUEST, policy: "{}", policyARNs }, never());
  t.match(session, {
    accessKeyID: "ASIAWEB", secretAccessKey: "s", sessionToken: "t", accountID: "111122223333", userID: "AROA:ack",
    arn: "arn:aws:sts::111122223333:assumed-role/capa/ack-role-resolver", packedPolicySize: 6,
  });
  t.ok(Math.abs((session.expirationMs ?? 0) - Date.now() - 7_200_000) < 10_000);
  t.same(received.map(({ form }) => form), [{
    Action: ACTION, Version: "2011-06-15", RoleArn: REQUEST.roleARN, RoleSessionName: REQUEST.sessionName,
    DurationSeconds: "7200", Policy: "{}", "PolicyArns.member.1.arn": policyARNs[0], WebIdentityToken: TOKEN,
  }]);
  t.same([received[0]?.headers.authorization, received[0]?.headers["x-amz-security-token"]], [undefined, undefined]);
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
