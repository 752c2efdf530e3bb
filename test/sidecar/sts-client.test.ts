import { type Test, test } from "tap";
import { NO_EXTRAS, type SessionRequest } from "../../shared/decisions/session.ts";
import { accessDenied, type BaseCredentials, type Fault, startSTSEmulator, type STSEmulator, THROTTLED } from "../../cli/local/sts-emulator/emulator.ts";
import { createSTS, parseSTSEndpoint, type SigningCredentials, type STS } from "../../sidecar/sts-client.ts";

const KNOWN: BaseCredentials = {
  accessKeyID: "ASIABASE", secretAccessKey: "planted-base-secret", sessionToken: "planted-base-token", arn: "arn:aws:sts::999999999999:assumed-role/ack/pod",
};
const BASE: SigningCredentials = { accessKeyID: KNOWN.accessKeyID, secretAccessKey: KNOWN.secretAccessKey, sessionToken: "planted-base-token", expirationMs: null };
const REQUEST: SessionRequest = {
  ...NO_EXTRAS, roleARN: "arn:aws:iam::111111111111:role/a", sessionName: "ack-role-resolver", durationSeconds: 3600, policy: null, policyARNs: [],
};

async function start(t: Test, faults?: () => Fault | null): Promise<{ emulator: STSEmulator; sts: STS; calls: string[] }> {
  const emulator = await startSTSEmulator({ baseCredentials: [KNOWN], ...(faults === undefined ? {} : { faults }) });
  t.teardown(() => emulator.close());
  const calls: string[] = [];
  return { emulator, calls, sts: createSTS({ endpoint: emulator.url, region: null, onCall: (action, code) => calls.push(`${action} ${code}`) }) };
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
  t.match(await sts.callerIdentity(BASE, never()), { accountID: "999999999999", arn: KNOWN.arn, userID: /^AIDA/ });
  const { accountID, arn, userID } = session;
  t.same(await sts.callerIdentity(session, never()), { accountID, arn, userID }, "other credentials, another client");
  t.same(calls, ["AssumeRole ok", "GetCallerIdentity ok", "GetCallerIdentity ok"]);
});

test("what STS says is told apart: about the role, about our credentials, or trouble", async (t) => {
  const faults: readonly (readonly [fault: Fault, code: string, counted: string])[] = [
    [accessDenied(REQUEST.roleARN), "ERR_STS_REFUSED", "AccessDenied"],
    [{ do: "refuse", code: "ValidationError", status: 400, message: "x" }, "ERR_STS_REFUSED", "ValidationError"],
    [{ do: "refuse", code: "ExpiredToken", status: 403, message: "x" }, "ERR_BASE_UNAVAILABLE", "ExpiredToken"],
    [{ do: "refuse", code: "InvalidClientTokenId", status: 403, message: "x" }, "ERR_BASE_UNAVAILABLE", "InvalidClientTokenId"],
    [THROTTLED, "ERR_STS_UNAVAILABLE", "Throttling"],
    [{ do: "refuse", code: "InternalFailure", status: 500, message: "x" }, "ERR_STS_UNAVAILABLE", "InternalFailure"],
    [{ do: "refuse", code: "SomethingNew", status: 400, message: "x" }, "ERR_STS_UNAVAILABLE", "other"],
    [{ do: "reset" }, "ERR_STS_UNAVAILABLE", "unreachable"],
    [{ do: "redirect", location: "http://127.0.0.1:1/" }, "ERR_STS_UNAVAILABLE", "unreachable"],
  ];
  for (const [fault, code, counted] of faults) {
    const { sts, calls, emulator } = await start(t, () => fault);
    const said = code === "ERR_STS_REFUSED" && fault.do === "refuse" ? { stsCode: fault.code, stsStatus: fault.status } : {};
    await t.rejects(sts.assumeRole(BASE, REQUEST, never()), { code, ...said }, `${fault.do} ${counted}`);
    t.same(calls, [`AssumeRole ${counted}`]);
    t.equal(emulator.calls.length, 1, "one attempt");
  }
});

test("a truncated answer never gives a session, nor any of it in the error", async (t) => {
  const { sts } = await start(t, () => ({ do: "truncate" }));
  const told = await sts.assumeRole(BASE, REQUEST, never()).then(
    ({ expirationMs }) => `a session that ends at ${expirationMs}`,
    (error: unknown) => String(error),
  );
  // The cache takes a session without an end for a failure.
  t.match(told, /^(a session that ends at 0|ResolverError: STS could not be asked \(AssumeRole: \w*\); ask again\.)$/);
});

test("a refused connection is trouble", async (t) => {
  const { sts, emulator } = await start(t);
  await emulator.close();
  await t.rejects(sts.callerIdentity(BASE, never()), { code: "ERR_STS_UNAVAILABLE", message: /^STS could not be asked \(GetCallerIdentity: \w*\); ask again\.$/ });
});

test("a call is given up when its signal says so", async (t) => {
  const asked = Promise.withResolvers<null>();
  const { sts } = await start(t, () => {
    asked.resolve(null);
    return { do: "hang" };
  });
  const abort = new AbortController();
  const call = sts.assumeRole(BASE, REQUEST, abort.signal);
  await asked.promise;
  abort.abort();
  await t.rejects(call, { code: "ERR_STS_UNAVAILABLE" });
});

test("AWS_ENDPOINT_URL* and a profile's endpoint_url lead nowhere", async (t) => {
  const trap = await start(t);
  const config = t.testdir({ config: `[default]\nendpoint_url = ${trap.emulator.url}\n` });
  const env = { AWS_ENDPOINT_URL: trap.emulator.url, AWS_ENDPOINT_URL_STS: trap.emulator.url, AWS_CONFIG_FILE: `${config}/config` };
  t.intercept(process, "env", { value: env });
  const { sts, emulator } = await start(t);
  await sts.callerIdentity(BASE, never());
  t.equal(emulator.calls.length, 1);
  // A region that there is none of: its name does not resolve, and the trap would have answered long before this gives up.
  const regional = createSTS({ endpoint: null, region: "eu-nowhere-1" });
  await t.rejects(regional.callerIdentity(BASE, AbortSignal.timeout(300)), { code: "ERR_STS_UNAVAILABLE" });
  t.same(trap.emulator.calls, []);
});

test("the endpoint is https or loopback, and bare", async (t) => {
  for (const good of ["https://sts.eu-west-1.amazonaws.com", "https://vpce-1.sts.eu-west-1.vpce.amazonaws.com:8443/path", "http://127.0.0.1:9782", "http://[::1]:9782", "http://localhost:1"]) {
    t.equal(parseSTSEndpoint(good).href.replace(/\/$/, ""), good);
  }
  for (const bad of ["http://sts.example", "http://169.254.170.2", "ftp://127.0.0.1", "https://planted-user:planted-password@sts.example", "https://sts.example?x=1", "https://sts.example/#x", "sts.example", ""]) {
    t.throws(() => parseSTSEndpoint(bad), {
      code: "ERR_CONFIG_INVALID",
      message: "--sts-endpoint must be an https URL, or http to a loopback address, without user, password, query or fragment.",
    }, bad);
  }
  t.throws(() => createSTS({ endpoint: null, region: null }), { code: "ERR_CONFIG_INVALID", message: /^--region is needed/ });
});
