import dns from "node:dns";
import { type Test, test } from "tap";
import type { STSEmulator } from "../../../cli/local/sts-emulator/emulator.ts";
import {
  accessDenied, type Fault, type FaultySTSOptions, startSTSEmulator, THROTTLED,
} from "../../cli/local/sts-emulator/faults.ts";
import type { BaseCredentials } from "../../../cli/local/sts-emulator/principals.ts";
import { NO_EXTRAS, type SessionRequest } from "../../../shared/core/session.ts";
import { systemClock } from "../../../shared/core/clock.ts";
import { CredentialCache } from "../../../sidecar/credentials/cache.ts";
import type { Load, SigningCredentials } from "../../../sidecar/credentials/session.ts";
import { CircuitBreaker } from "../../../sidecar/sts-upstream/circuit-breaker.ts";
import { createSTS, type STS, type STSOptions } from "../../../sidecar/sts-upstream/client.ts";
import { FakeClock } from "../fake-clock.ts";

const KNOWN: BaseCredentials = {
  accessKeyID: "ASIABASE", secretAccessKey: "planted-base-secret", sessionToken: "planted-base-token",
  arn: "arn:aws:sts::999999999999:assumed-role/ack/pod",
};
const BASE: SigningCredentials = {
  accessKeyID: KNOWN.accessKeyID, secretAccessKey: KNOWN.secretAccessKey, sessionToken: "planted-base-token",
  expirationMs: null,
};
const REQUEST: SessionRequest = {
  ...NO_EXTRAS, roleARN: "arn:aws:iam::111111111111:role/a", sessionName: "ack-role-resolver", durationSeconds: 3600,
  policy: null, policyARNs: [], transitiveTagKeys: [],
};
const MINUTE = 60_000;

interface Started {
  readonly emulator: STSEmulator;
  readonly sts: STS;
  readonly calls: readonly string[];
}

async function start(
  t: Test, emulation: Partial<FaultySTSOptions> = {}, options: Partial<STSOptions> = {},
): Promise<Started> {
  const emulator = await startSTSEmulator({ baseCredentials: [KNOWN], ...emulation });
  t.teardown(() => emulator.close());
  const calls: string[] = [];
  const onCall = (action: string, code: string): void => void calls.push(`${action} ${code}`);
  return { emulator, calls, sts: createSTS({ endpoint: emulator.url, region: null, onCall, ...options }) };
}

function never(): AbortSignal {
  return new AbortController().signal;
}

test("assumes a role for an hour, and returns the identity of the base credentials", async (t) => {
  const { sts, emulator, calls } = await start(t);
  const session = await sts.assumeRole(BASE, REQUEST, never());
  t.match(session, {
    accessKeyID: /^ASIA/, accountID: "111111111111", arn: "arn:aws:sts::111111111111:assumed-role/a/ack-role-resolver",
    userID: /^AROA\w+:ack-role-resolver$/, origin: { requestID: /^[0-9a-f-]{36}$/, sourceIdentity: null },
  });
  t.ok(Math.abs((session.expirationMs ?? 0) - Date.now() - 3_600_000) < 10_000);
  t.same(emulator.calls, [
    { action: "AssumeRole", roleARN: REQUEST.roleARN, sessionName: "ack-role-resolver", durationSeconds: 3600 },
  ]);
  t.match(await sts.callerIdentity(BASE, never()), {
    accountID: "999999999999",
    arn: KNOWN.arn,
    userID: /^AIDA\w+$|^AROA\w+:pod$/,
  });
  const { accountID, arn, userID } = session;
  t.match(
    await sts.callerIdentity(session, never()),
    { accountID, arn, userID },
    "other credentials use another SDK client",
  );
  t.same(calls, ["AssumeRole ok", "GetCallerIdentity ok", "GetCallerIdentity ok"]);
});

test("sends every parameter of a session request to STS", async (t) => {
  const forms: string[] = [];
  const { sts } = await start(t, { faults: ({ roleARN }) => { forms.push(String(roleARN)); return null; } });
  const fullRequest: SessionRequest = {
    ...REQUEST, externalID: "planted-external-id", sourceIdentity: "ack", tags: [{ key: "team", value: "a b" }],
    policy: '{"Version":"2012-10-17"}', policyARNs: ["arn:aws:iam::aws:policy/ReadOnlyAccess"], durationSeconds: 900,
    transitiveTagKeys: ["team"],
  };
  const rejects = (change: Partial<SessionRequest>, message: RegExp): Promise<unknown> =>
    t.rejects(sts.assumeRole(BASE, { ...fullRequest, ...change }, never()), { message });
  const session = await sts.assumeRole(BASE, fullRequest, never());
  t.ok((session.expirationMs ?? 0) - Date.now() <= 900_000);
  t.same(forms, [REQUEST.roleARN]);
  // The emulator receives each of these parameters, because it rejects an invalid value of the parameter.
  await rejects({ externalID: "?" }, /'externalId'/);
  await rejects({ sourceIdentity: "?!" }, /'sourceIdentity'/);
  await rejects({ policy: "no JSON" }, /^STS returned MalformedPolicyDocument for AssumeRole: /);
  await rejects({ tags: [{ key: "a", value: "b" }, { key: "A", value: "b" }] }, /Duplicate tag keys/);
  await rejects({ transitiveTagKeys: [""] }, /'transitiveTagKeys\.member\.1'/);
  const policyARNs = Array.from({ length: 11 }, (_, i) => `arn:aws:iam::aws:policy/p${i}`);
  await rejects({ policyARNs }, /^STS returned ValidationError for AssumeRole: /);
});

function errorOf(code: string, status: number): Fault {
  return { do: "reject", code, status, message: "x" };
}

/** Lists the expected error code and metric label for each fault of STS. */
const FAULTS: readonly (readonly [fault: Fault, code: string, metric: string])[] = [
  [accessDenied(REQUEST.roleARN), "ERR_STS_REFUSED", "AccessDenied"],
  [errorOf("ValidationError", 400), "ERR_STS_REFUSED", "ValidationError"],
  [errorOf("MalformedPolicyDocument", 400), "ERR_STS_REFUSED", "MalformedPolicyDocument"],
  [errorOf("PackedPolicyTooLarge", 400), "ERR_STS_REFUSED", "PackedPolicyTooLarge"],
  [errorOf("RegionDisabledException", 403), "ERR_STS_REFUSED", "RegionDisabledException"],
  [errorOf("ExpiredToken", 403), "ERR_BASE_UNAVAILABLE", "ExpiredToken"],
  [errorOf("InvalidClientTokenId", 403), "ERR_BASE_UNAVAILABLE", "InvalidClientTokenId"],
  [errorOf("SignatureDoesNotMatch", 403), "ERR_BASE_UNAVAILABLE", "SignatureDoesNotMatch"],
  [THROTTLED, "ERR_STS_UNAVAILABLE", "Throttling"],
  [errorOf("InternalFailure", 500), "ERR_STS_UNAVAILABLE", "InternalFailure"],
  [errorOf("ServiceUnavailable", 503), "ERR_STS_UNAVAILABLE", "ServiceUnavailable"],
  [errorOf("SomethingNew", 400), "ERR_STS_UNAVAILABLE", "other"],
  [errorOf("AccessDenied", 700), "ERR_STS_UNAVAILABLE", "unreachable"],
  [{ do: "reset" }, "ERR_STS_UNAVAILABLE", "unreachable"],
  [{ do: "hang" }, "ERR_STS_UNAVAILABLE", "unreachable"],
  [{ do: "drip" }, "ERR_STS_UNAVAILABLE", "unreachable"],
  [{ do: "flood" }, "ERR_STS_UNAVAILABLE", "unreachable"],
  [{ do: "redirect", location: "http://127.0.0.1:1/" }, "ERR_STS_UNAVAILABLE", "unreachable"],
];

/** Only these faults need a short time limit. Calls with other faults end immediately, even on a loaded machine. */
const SLOW: ReadonlySet<string> = new Set(["hang", "drip"]);

for (const [fault, code, metric] of FAULTS) {
  const name = fault.do === "reject" ? fault.code : fault.do;
  test(`reports ${name} as ${code} (metric label ${metric}) after one attempt`, async (t) => {
    const signal = SLOW.has(fault.do) ? AbortSignal.timeout(250) : never();
    const { sts, calls, emulator } = await start(t, { faults: () => fault });
    const expected =
      code === "ERR_STS_REFUSED" && fault.do === "reject" ? { stsCode: fault.code, stsStatus: fault.status } : {};
    await t.rejects(sts.assumeRole(BASE, REQUEST, signal), { code, ...expected });
    t.same(calls, [`AssumeRole ${metric}`]);
    t.equal(emulator.calls.length, 1, "the SDK makes one attempt");
  });
}

test("opens the circuit for availability errors, but not for unknown errors about a single request", async (t) => {
  const errors: readonly (readonly [code: string, status: number, state: string])[] = [
    ["InvalidParameterValue", 400, "closed"], ["OptInRequired", 403, "closed"],
    ["RequestLimitExceeded", 400, "open"], ["TooManyRequestsException", 429, "open"], ["RequestTimeout", 408, "open"],
    ["SomethingNew", 500, "open"], ["Throttling", 400, "open"],
  ];
  for (const [code, status, state] of errors) {
    const { sts } = await start(t, { faults: () => ({ do: "reject", code, status, message: "x" }) });
    const circuit = new CircuitBreaker({ clock: new FakeClock() });
    const call = (): Promise<unknown> => circuit.run(() => sts.assumeRole(BASE, REQUEST, never()));
    for (let i = 0; i < 5; i++) await t.rejects(call(), { code: "ERR_STS_UNAVAILABLE" });
    t.equal(circuit.state, state, code);
  }
});

test("rejects a truncated STS response but does not quote it in the error", async (t) => {
  const { sts } = await start(t, { faults: () => ({ do: "truncate" }) });
  const cache = new CredentialCache({ clock: systemClock, random: () => 0 });
  t.teardown(() => cache.close());
  const load: Load = (signal) => sts.assumeRole(BASE, REQUEST, signal);
  const text = await cache.get({ key: "a", grantedBy: cache, load }).then(JSON.stringify, String);
  const messages = ["The STS call failed \\(AssumeRole: \\w*\\)", "STS returned credentials that are incomplete"];
  t.match(text, new RegExp(`^ResolverError: (${messages.join("|")})`));
});

test("reports a refused connection to STS as ERR_STS_UNAVAILABLE", async (t) => {
  const { sts, emulator } = await start(t);
  await emulator.close();
  await t.rejects(sts.callerIdentity(BASE, never()), {
    code: "ERR_STS_UNAVAILABLE", message: "The STS call failed (GetCallerIdentity: ECONNREFUSED). Retry the request.",
  });
});

test("removes all secrets from error messages that STS returns", async (t) => {
  const secret: SessionRequest = {
    ...REQUEST, externalID: "planted-external-id", policy: '{"planted":"policy"}',
    tags: [{ key: "team", value: "planted-tag" }, { key: "env", value: "x" }],
  };
  const message = "Value 'planted-external-id' at 'externalId', 'planted-tag', 'x', {\"planted\":\"policy\"}, " +
    `planted-base-secret, planted-base-token\u001B[2J ${"y".repeat(5_000)}`;
  const errors = Object.entries({
    ValidationError: 400, ExpiredToken: 403, Throttling: 400, AccessDenied: 403, InternalFailure: 500,
  });
  for (const [code, status] of errors) {
    const { sts } = await start(t, { faults: () => ({ do: "reject", code, status, message }) });
    const error: unknown = await sts.assumeRole(BASE, secret, never()).catch((reason: unknown) => reason);
    const text = error instanceof Error ? error.message : "";
    t.match(text, `STS returned ${code} for AssumeRole: Value '[redacted]' at 'externalId', '[redacted]', [redacted]`);
    t.notOk(text.includes("\u001B"));
    t.notMatch(text, "planted");
    t.ok(text.length < 1_300, "the length of the message is limited");
  }
});

test("aborts an STS call when its AbortSignal is aborted", async (t) => {
  const received = Promise.withResolvers<null>();
  const { sts } = await start(t, { faults: () => {
    received.resolve(null);
    return { do: "hang" };
  } });
  const abort = new AbortController();
  const call = sts.assumeRole(BASE, REQUEST, abort.signal);
  await received.promise;
  abort.abort();
  await t.rejects(call, { code: "ERR_STS_UNAVAILABLE" });
});

test("returns no expiration later than that of STS if the local clock is 10 minutes behind", async (t) => {
  const { sts } = await start(t, { now: () => Date.now() + 10 * MINUTE });
  const before = Date.now();
  const { expirationMs } = await sts.assumeRole(BASE, REQUEST, never());
  const sinceMs = (expirationMs ?? 0) - before;
  t.ok(sinceMs <= 60 * MINUTE + 1_000 && sinceMs > 59 * MINUTE, `${sinceMs} ms, of 70 minutes by the clock of STS`);
  t.ok(Math.abs(sts.clockLagMs - 10 * MINUTE) < 5_000, `${sts.clockLagMs} ms behind`);
});

test("returns an expiration earlier than that of STS if the local clock is 10 minutes ahead", async (t) => {
  const { sts } = await start(t, { now: () => Date.now() - 10 * MINUTE });
  const before = Date.now();
  const { expirationMs } = await sts.assumeRole(BASE, REQUEST, never());
  const sinceMs = (expirationMs ?? 0) - before;
  t.ok(sinceMs <= 50 * MINUTE + 1_000 && sinceMs > 49 * MINUTE - 1_000, `${sinceMs} ms`);
  t.equal(sts.clockLagMs, 0);
});

test("signs with the time of STS if the local clock is wrong by 20 minutes", async (t) => {
  for (const offMs of [20 * MINUTE, -20 * MINUTE]) {
    const { sts, emulator, calls } = await start(t, { now: () => Date.now() + offMs });
    const session = await sts.assumeRole(BASE, REQUEST, never());
    t.match(session, { accountID: "111111111111" });
    t.equal(emulator.calls.length, 2, "the second call is signed with the time of STS");
    await sts.callerIdentity(BASE, never());
    await sts.callerIdentity(session, never());
    t.equal(emulator.calls.length, 4, "all later calls are signed with the time of STS");
    t.same(calls, ["AssumeRole ok", "GetCallerIdentity ok", "GetCallerIdentity ok"]);
  }
});

test("signs with the time of STS if the local clock is set by 20 minutes between two calls", async (t) => {
  let offMs = 0;
  const { sts, emulator } = await start(t, { now: () => Date.now() + offMs });
  await sts.callerIdentity(BASE, never());
  offMs = 20 * MINUTE;
  await sts.callerIdentity(BASE, never());
  t.equal(emulator.calls.length, 3);
});

test("ignores AWS_ENDPOINT_URL* and the endpoint_url of a profile", async (t) => {
  const trap = await start(t);
  const config = t.testdir({ config: `[default]\nendpoint_url = ${trap.emulator.url}\nmax_attempts = 5\n` });
  const { url } = trap.emulator;
  const env = {
    AWS_ENDPOINT_URL: url, AWS_ENDPOINT_URL_STS: url, AWS_CONFIG_FILE: `${config}/config`, AWS_MAX_ATTEMPTS: "5",
  };
  t.intercept(process, "env", { value: env });
  const { sts, emulator } = await start(t);
  await sts.callerIdentity(BASE, never());
  t.equal(emulator.calls.length, 1);
  // This region does not exist, so the host name of its endpoint does not resolve. If the client called the trap, the
  // trap would respond within the time limit.
  const regional = createSTS({ endpoint: null, region: "eu-nowhere-1" });
  await t.rejects(regional.callerIdentity(BASE, AbortSignal.timeout(300)), { code: "ERR_STS_UNAVAILABLE" });
  t.same(trap.emulator.calls, []);
});

test("uses the regional endpoint in the partition of the region", async (t) => {
  const received: string[] = [];
  t.intercept(dns, "lookup", {
    value: (host: string, _options: unknown, done: (error: Error) => void): void => {
      received.push(host);
      done(new Error("no network in tests"));
    },
  });
  const env = {
    AWS_USE_FIPS_ENDPOINT: "true",
    AWS_USE_DUALSTACK_ENDPOINT: "true",
    AWS_STS_REGIONAL_ENDPOINTS: "legacy",
  };
  t.intercept(process, "env", { value: env });
  for (const region of ["eu-west-1", "us-east-1", "cn-north-1", "us-gov-west-1"]) {
    await t.rejects(createSTS({ endpoint: null, region }).callerIdentity(BASE, never()), {
      code: "ERR_STS_UNAVAILABLE",
    });
  }
  t.same(received, [
    "sts.eu-west-1.amazonaws.com", "sts.us-east-1.amazonaws.com", "sts.cn-north-1.amazonaws.com.cn",
    "sts.us-gov-west-1.amazonaws.com",
  ]);
});
