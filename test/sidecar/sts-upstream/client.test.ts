import dns from "node:dns";
import { type Test, test } from "tap";
import {
  startSTSEmulator, type STSEmulator, type STSEmulatorOptions,
} from "../../../cli/local/sts-emulator/emulator.ts";
import { accessDenied, type Fault, THROTTLED } from "../../../cli/local/sts-emulator/faults.ts";
import type { BaseCredentials } from "../../../cli/local/sts-emulator/principals.ts";
import { NO_EXTRAS, type SessionRequest } from "../../../shared/decisions/selectors/session.ts";
import { CircuitBreaker } from "../../../sidecar/sts-upstream/circuit-breaker.ts";
import { createSTS, type STS, type STSOptions } from "../../../sidecar/sts-upstream/client.ts";
import type { SigningCredentials } from "../../../sidecar/sts-upstream/connection.ts";
import { FakeClock } from "../fake-clock.ts";

const KNOWN: BaseCredentials = {
  accessKeyID: "ASIABASE", secretAccessKey: "planted-base-secret", sessionToken: "planted-base-token", arn: "arn:aws:sts::999999999999:assumed-role/ack/pod",
};
const BASE: SigningCredentials = { accessKeyID: KNOWN.accessKeyID, secretAccessKey: KNOWN.secretAccessKey, sessionToken: "planted-base-token", expirationMs: null };
const REQUEST: SessionRequest = {
  ...NO_EXTRAS, roleARN: "arn:aws:iam::111111111111:role/a", sessionName: "ack-role-resolver", durationSeconds: 3600, policy: null, policyARNs: [],
};
const MINUTE = 60_000;

interface Started {
  readonly emulator: STSEmulator;
  readonly sts: STS;
  readonly calls: readonly string[];
}

async function start(t: Test, emulation: Partial<STSEmulatorOptions> = {}, options: Partial<STSOptions> = {}): Promise<Started> {
  const emulator = await startSTSEmulator({ baseCredentials: [KNOWN], ...emulation });
  t.teardown(() => emulator.close());
  const calls: string[] = [];
  return { emulator, calls, sts: createSTS({ endpoint: emulator.url, region: null, onCall: (action, code) => calls.push(`${action} ${code}`), ...options }) };
}

function never(): AbortSignal {
  return new AbortController().signal;
}

test("a role is assumed for an hour, and the base identity's account told", async (t) => {
  const { sts, emulator, calls } = await start(t);
  const session = await sts.assumeRole(BASE, REQUEST, never());
  t.match(session, { accessKeyID: /^ASIA/, accountID: "111111111111", arn: "arn:aws:sts::111111111111:assumed-role/a/ack-role-resolver", userID: /^AROA\w+:ack-role-resolver$/ });
  t.ok(Math.abs((session.expirationMs ?? 0) - Date.now() - 3_600_000) < 10_000);
  t.same(emulator.calls, [{ action: "AssumeRole", roleARN: REQUEST.roleARN, sessionName: "ack-role-resolver", durationSeconds: 3600 }]);
  t.match(await sts.callerIdentity(BASE, never()), { accountID: "999999999999", arn: KNOWN.arn, userID: /^AIDA\w+$|^AROA\w+:pod$/ });
  t.match(await sts.callerIdentity(session, never()), { accountID: "111111111111", arn: session.arn, userID: session.userID }, "other credentials, another client");
  t.same(calls, ["AssumeRole ok", "GetCallerIdentity ok", "GetCallerIdentity ok"]);
});

test("everything that a session can be asked with reaches STS", async (t) => {
  const forms: string[] = [];
  const { sts } = await start(t, { faults: ({ roleARN }) => { forms.push(String(roleARN)); return null; } });
  const whole: SessionRequest = {
    ...REQUEST, externalID: "planted-external-id", sourceIdentity: "ack", tags: [{ key: "team", value: "a b" }], policy: '{"Version":"2012-10-17"}',
    policyARNs: ["arn:aws:iam::aws:policy/ReadOnlyAccess"], durationSeconds: 900,
  };
  const session = await sts.assumeRole(BASE, whole, never());
  t.ok((session.expirationMs ?? 0) - Date.now() <= 900_000);
  t.same(forms, [REQUEST.roleARN]);
  await t.rejects(sts.assumeRole(BASE, { ...whole, externalID: "?" }, never()), { message: /'externalId'/ }, "the emulator read it");
  await t.rejects(sts.assumeRole(BASE, { ...whole, sourceIdentity: "?!" }, never()), { message: /'sourceIdentity'/ });
  await t.rejects(sts.assumeRole(BASE, { ...whole, policy: "no JSON" }, never()), { message: /^STS answered AssumeRole with MalformedPolicyDocument: / });
  await t.rejects(sts.assumeRole(BASE, { ...whole, tags: [{ key: "a", value: "b" }, { key: "A", value: "b" }] }, never()), { message: /Duplicate tag keys/ });
  await t.rejects(sts.assumeRole(BASE, { ...whole, policyARNs: Array.from({ length: 11 }, (_, i) => `arn:aws:iam::aws:policy/p${i}`) }, never()), { message: /^STS answered AssumeRole with ValidationError: / });
});

/** What the fault of an STS is told as, and counted as. */
const FAULTS: readonly (readonly [fault: Fault, code: string, counted: string])[] = [
  [accessDenied(REQUEST.roleARN), "ERR_STS_REFUSED", "AccessDenied"],
  [{ do: "refuse", code: "ValidationError", status: 400, message: "x" }, "ERR_STS_REFUSED", "ValidationError"],
  [{ do: "refuse", code: "MalformedPolicyDocument", status: 400, message: "x" }, "ERR_STS_REFUSED", "MalformedPolicyDocument"],
  [{ do: "refuse", code: "PackedPolicyTooLarge", status: 400, message: "x" }, "ERR_STS_REFUSED", "PackedPolicyTooLarge"],
  [{ do: "refuse", code: "RegionDisabledException", status: 403, message: "x" }, "ERR_STS_REFUSED", "RegionDisabledException"],
  [{ do: "refuse", code: "ExpiredToken", status: 403, message: "x" }, "ERR_BASE_UNAVAILABLE", "ExpiredToken"],
  [{ do: "refuse", code: "InvalidClientTokenId", status: 403, message: "x" }, "ERR_BASE_UNAVAILABLE", "InvalidClientTokenId"],
  [{ do: "refuse", code: "SignatureDoesNotMatch", status: 403, message: "x" }, "ERR_BASE_UNAVAILABLE", "SignatureDoesNotMatch"],
  [THROTTLED, "ERR_STS_UNAVAILABLE", "Throttling"],
  [{ do: "refuse", code: "InternalFailure", status: 500, message: "x" }, "ERR_STS_UNAVAILABLE", "InternalFailure"],
  [{ do: "refuse", code: "ServiceUnavailable", status: 503, message: "x" }, "ERR_STS_UNAVAILABLE", "ServiceUnavailable"],
  [{ do: "refuse", code: "SomethingNew", status: 400, message: "x" }, "ERR_STS_UNAVAILABLE", "other"],
  [{ do: "refuse", code: "AccessDenied", status: 700, message: "x" }, "ERR_STS_UNAVAILABLE", "unreachable"],
  [{ do: "reset" }, "ERR_STS_UNAVAILABLE", "unreachable"],
  [{ do: "hang" }, "ERR_STS_UNAVAILABLE", "unreachable"],
  [{ do: "drip" }, "ERR_STS_UNAVAILABLE", "unreachable"],
  [{ do: "flood" }, "ERR_STS_UNAVAILABLE", "unreachable"],
  [{ do: "redirect", location: "http://127.0.0.1:1/" }, "ERR_STS_UNAVAILABLE", "unreachable"],
];

/** The others answer at once, however busy the machine is. */
const SLOW: ReadonlySet<string> = new Set(["hang", "drip"]);

for (const [fault, code, counted] of FAULTS) {
  test(`an STS that answers ${fault.do}${fault.do === "refuse" ? ` ${fault.code}` : ""} is ${code}, in one attempt`, async (t) => {
    const { sts, calls, emulator } = await start(t, { faults: () => fault }, SLOW.has(fault.do) ? { limitMs: 250 } : {});
    const said = code === "ERR_STS_REFUSED" && fault.do === "refuse" ? { stsCode: fault.code, stsStatus: fault.status } : {};
    await t.rejects(sts.assumeRole(BASE, REQUEST, never()), { code, ...said });
    t.same(calls, [`AssumeRole ${counted}`]);
    t.equal(emulator.calls.length, 1, "one attempt");
  });
}

test("what STS refuses a role by in words that are not known here opens no circuit for the others, and what may be trouble does", async (t) => {
  const answers: readonly (readonly [code: string, status: number, state: string])[] = [
    ["InvalidParameterValue", 400, "closed"], ["OptInRequired", 403, "closed"],
    ["RequestLimitExceeded", 400, "open"], ["TooManyRequestsException", 429, "open"], ["RequestTimeout", 408, "open"], ["SomethingNew", 500, "open"], ["Throttling", 400, "open"],
  ];
  for (const [code, status, state] of answers) {
    const { sts } = await start(t, { faults: () => ({ do: "refuse", code, status, message: "x" }) });
    const circuit = new CircuitBreaker({ clock: new FakeClock() });
    for (let i = 0; i < 5; i++) await t.rejects(circuit.run(() => sts.assumeRole(BASE, REQUEST, never())), { code: "ERR_STS_UNAVAILABLE" });
    t.equal(circuit.state, state, code);
  }
});

test("a truncated answer never gives a session, nor any of it in the error", async (t) => {
  const { sts } = await start(t, { faults: () => ({ do: "truncate" }) });
  const told = await sts.assumeRole(BASE, REQUEST, never()).then((session) => JSON.stringify(session), (error: unknown) => String(error));
  t.match(told, /^ResolverError: STS (could not be asked \(AssumeRole: \w*\)|answered AssumeRole without whole credentials); ask again\.$/);
});

test("a refused connection is trouble", async (t) => {
  const { sts, emulator } = await start(t);
  await emulator.close();
  await t.rejects(sts.callerIdentity(BASE, never()), { code: "ERR_STS_UNAVAILABLE", message: "STS could not be asked (GetCallerIdentity: ECONNREFUSED); ask again." });
});

test("no secret stands in what is told, although STS repeats it", async (t) => {
  const secret: SessionRequest = {
    ...REQUEST, externalID: "planted-external-id", tags: [{ key: "team", value: "planted-tag" }, { key: "env", value: "x" }], policy: '{"planted":"policy"}',
  };
  const message = `Value 'planted-external-id' at 'externalId', 'planted-tag', 'x', {"planted":"policy"}, planted-base-secret, planted-base-token\u001B[2J ${"y".repeat(5_000)}`;
  for (const [code, status] of [["ValidationError", 400], ["ExpiredToken", 403], ["Throttling", 400], ["AccessDenied", 403], ["InternalFailure", 500]] as const) {
    const { sts } = await start(t, { faults: () => ({ do: "refuse", code, status, message }) });
    const error: unknown = await sts.assumeRole(BASE, secret, never()).catch((reason: unknown) => reason);
    const told = error instanceof Error ? error.message : "";
    t.match(told, `STS answered AssumeRole with ${code}: Value '[redacted]' at 'externalId', '[redacted]', [redacted]`);
    t.notOk(told.includes("\u001B"));
    t.notMatch(told, "planted");
    t.ok(told.length < 1_200, "nor more than can be read");
  }
});

test("a call is given up when its signal says so", async (t) => {
  const asked = Promise.withResolvers<null>();
  const { sts } = await start(t, { faults: () => {
    asked.resolve(null);
    return { do: "hang" };
  } });
  const abort = new AbortController();
  const call = sts.assumeRole(BASE, REQUEST, abort.signal);
  await asked.promise;
  abort.abort();
  await t.rejects(call, { code: "ERR_STS_UNAVAILABLE" });
});

test("on a machine whose clock is 10 minutes behind STS a session ends here no later than there", async (t) => {
  const { sts } = await start(t, { now: () => Date.now() + 10 * MINUTE });
  const before = Date.now();
  const { expirationMs } = await sts.assumeRole(BASE, REQUEST, never());
  const sinceMs = (expirationMs ?? 0) - before;
  t.ok(sinceMs <= 60 * MINUTE + 1_000 && sinceMs > 59 * MINUTE, `${sinceMs} ms of 70 minutes that STS's time says`);
  t.ok(Math.abs(sts.behindMs - 10 * MINUTE) < 5_000, `${sts.behindMs} ms behind`);
});

test("on a machine whose clock is 10 minutes ahead of STS a session ends early", async (t) => {
  const { sts } = await start(t, { now: () => Date.now() - 10 * MINUTE });
  const before = Date.now();
  const { expirationMs } = await sts.assumeRole(BASE, REQUEST, never());
  const sinceMs = (expirationMs ?? 0) - before;
  t.ok(sinceMs <= 50 * MINUTE + 1_000 && sinceMs > 49 * MINUTE - 1_000, `${sinceMs} ms`);
  t.equal(sts.behindMs, 0);
});

test("a clock 20 minutes off is told from STS's answer and made up for, for other credentials too", async (t) => {
  for (const offMs of [20 * MINUTE, -20 * MINUTE]) {
    const { sts, emulator, calls } = await start(t, { now: () => Date.now() + offMs });
    const session = await sts.assumeRole(BASE, REQUEST, never());
    t.match(session, { accountID: "111111111111" });
    t.equal(emulator.calls.length, 2, "the second is signed with STS's time");
    await sts.callerIdentity(BASE, never());
    await sts.callerIdentity(session, never());
    t.equal(emulator.calls.length, 4, "and so are all that follow");
    t.same(calls, ["AssumeRole ok", "GetCallerIdentity ok", "GetCallerIdentity ok"]);
  }
});

test("a clock that is set by 20 minutes while it runs is made up for as well", async (t) => {
  let offMs = 0;
  const { sts, emulator } = await start(t, { now: () => Date.now() + offMs });
  await sts.callerIdentity(BASE, never());
  offMs = 20 * MINUTE;
  await sts.callerIdentity(BASE, never());
  t.equal(emulator.calls.length, 3);
});

test("AWS_ENDPOINT_URL* and a profile's endpoint_url lead nowhere", async (t) => {
  const trap = await start(t);
  const config = t.testdir({ config: `[default]\nendpoint_url = ${trap.emulator.url}\nmax_attempts = 5\n` });
  const env = { AWS_ENDPOINT_URL: trap.emulator.url, AWS_ENDPOINT_URL_STS: trap.emulator.url, AWS_CONFIG_FILE: `${config}/config`, AWS_MAX_ATTEMPTS: "5" };
  t.intercept(process, "env", { value: env });
  const { sts, emulator } = await start(t);
  await sts.callerIdentity(BASE, never());
  t.equal(emulator.calls.length, 1);
  // A region that there is none of: its name does not resolve, and the trap would have answered long before this gives up.
  const regional = createSTS({ endpoint: null, region: "eu-nowhere-1" });
  await t.rejects(regional.callerIdentity(BASE, AbortSignal.timeout(300)), { code: "ERR_STS_UNAVAILABLE" });
  t.same(trap.emulator.calls, []);
});

test("the endpoint is the region's own, in its partition", async (t) => {
  const asked: string[] = [];
  t.intercept(dns, "lookup", {
    value: (host: string, _options: unknown, done: (error: Error) => void): void => {
      asked.push(host);
      done(new Error("no network in tests"));
    },
  });
  t.intercept(process, "env", { value: { AWS_USE_FIPS_ENDPOINT: "true", AWS_USE_DUALSTACK_ENDPOINT: "true", AWS_STS_REGIONAL_ENDPOINTS: "legacy" } });
  for (const region of ["eu-west-1", "us-east-1", "cn-north-1", "us-gov-west-1"]) {
    await t.rejects(createSTS({ endpoint: null, region }).callerIdentity(BASE, never()), { code: "ERR_STS_UNAVAILABLE" });
  }
  t.same(asked, ["sts.eu-west-1.amazonaws.com", "sts.us-east-1.amazonaws.com", "sts.cn-north-1.amazonaws.com.cn", "sts.us-gov-west-1.amazonaws.com"]);
  t.throws(() => createSTS({ endpoint: null, region: null }), { code: "ERR_CONFIG_INVALID", message: /^--region is needed/ });
});
