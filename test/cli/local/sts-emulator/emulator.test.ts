import {
  AssumeRoleCommand, type AssumeRoleCommandInput, GetCallerIdentityCommand, GetSessionTokenCommand, STSClient,
} from "@aws-sdk/client-sts";
import { type Test, test } from "tap";
import {
  startSTSEmulator, type STSEmulator, type STSEmulatorOptions,
} from "../../../../cli/local/sts-emulator/emulator.ts";
import { accessDenied, type Fault, THROTTLED } from "../../../../cli/local/sts-emulator/faults.ts";
import type { BaseCredentials } from "../../../../cli/local/sts-emulator/principals.ts";
import { get, type LoopbackAnswer, send } from "../../../loopback-request.ts";

const USER: BaseCredentials = { accessKeyID: "AKIAUSER", secretAccessKey: "user-secret", arn: "arn:aws:iam::999999999999:user/ops" };
const SESSION: BaseCredentials = {
  accessKeyID: "ASIASESSION", secretAccessKey: "session-secret", sessionToken: "tok/+=", arn: "arn:aws:sts::999999999999:assumed-role/ack/pod",
};
const ROLE = "arn:aws:iam::111111111111:role/teams/team-a";

interface Keys {
  readonly accessKeyID: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

async function start(t: Test, options: Partial<STSEmulatorOptions> = {}): Promise<STSEmulator> {
  const emulator = await startSTSEmulator({ baseCredentials: [USER, SESSION], ...options });
  t.teardown(() => emulator.close());
  return emulator;
}

function client(t: Test, { url }: STSEmulator, { accessKeyID, secretAccessKey, sessionToken }: Keys, region = "eu-west-1"): STSClient {
  const credentials = { accessKeyId: accessKeyID, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) };
  const sts = new STSClient({ endpoint: url, region, credentials, maxAttempts: 1 });
  t.teardown(() => sts.destroy());
  return sts;
}

function assume(input: Partial<AssumeRoleCommandInput> = {}): AssumeRoleCommand {
  return new AssumeRoleCommand({ RoleArn: ROLE, RoleSessionName: "test", ...input });
}

test("a role is assumed and its session is who it says", async (t) => {
  const now = Date.parse("2026-08-01T12:00:00.700Z");
  const emulator = await start(t, { now: () => now });
  const sts = client(t, emulator, SESSION);
  // The SDK signs with the machine's clock, which a fault of the emulator's clock would show.
  sts.config.systemClockOffset = now - Date.now();
  const { Credentials, AssumedRoleUser, SourceIdentity } = await sts.send(assume({ DurationSeconds: 900, SourceIdentity: "alice" }));
  t.match(Credentials, { AccessKeyId: /^ASIA[A-Z2-7]{16}$/, Expiration: new Date("2026-08-01T12:15:00Z") });
  t.match(AssumedRoleUser, { Arn: "arn:aws:sts::111111111111:assumed-role/team-a/test", AssumedRoleId: /^AROA[0-9A-F]{17}:test$/ });
  t.equal(SourceIdentity, "alice");

  const other = await sts.send(assume());
  t.not(other.Credentials?.AccessKeyId, Credentials?.AccessKeyId, "a new key each time");
  const role = client(t, emulator, {
    accessKeyID: Credentials?.AccessKeyId ?? "", secretAccessKey: Credentials?.SecretAccessKey ?? "", sessionToken: Credentials?.SessionToken ?? "",
  });
  role.config.systemClockOffset = now - Date.now();
  t.match(await role.send(new GetCallerIdentityCommand({})), { Account: "111111111111", Arn: "arn:aws:sts::111111111111:assumed-role/team-a/test" });
  t.match(emulator.calls.at(-3), { action: "AssumeRole", roleARN: ROLE, sessionName: "test", durationSeconds: 900 });
});

test("base credentials are who they were configured as, in any region", async (t) => {
  const emulator = await start(t);
  t.match(await client(t, emulator, USER).send(new GetCallerIdentityCommand({})), { Account: "999999999999", Arn: USER.arn, UserId: /^AIDA/ });
  t.match(await client(t, emulator, SESSION, "us-gov-west-1").send(new GetCallerIdentityCommand({})), { Arn: SESSION.arn });
});

test("keys that do not hold are refused as STS does", async (t) => {
  let now = Date.now();
  const emulator = await start(t, { now: () => now, baseCredentials: [USER, { ...SESSION, expirationMs: now + 60_000 }] });
  const ask = (keys: Keys): Promise<unknown> => client(t, emulator, keys).send(new GetCallerIdentityCommand({}));
  await t.rejects(ask({ ...USER, accessKeyID: "AKIAOTHER" }), { name: "InvalidClientTokenId", $metadata: { httpStatusCode: 403 } });
  await t.rejects(ask({ ...USER, secretAccessKey: "wrong" }), { name: "SignatureDoesNotMatch", $metadata: { httpStatusCode: 403 } });
  await t.rejects(ask({ ...SESSION, sessionToken: "tok" }), { name: "InvalidClientTokenId" }, "another session token");
  await t.rejects(ask({ ...USER, sessionToken: "tok" }), { name: "InvalidClientTokenId" }, "a token for a key that has none");
  await t.resolves(ask(SESSION));
  now += 60_000;
  await t.rejects(ask(SESSION), { name: "ExpiredToken", $metadata: { httpStatusCode: 403 }, message: "The security token included in the request is expired" });
  now += 14 * 60_000 - 5_000;
  await t.resolves(ask(USER), "a clock almost 15 minutes off");
  now += 10_000;
  await t.rejects(ask(USER), { name: "SignatureDoesNotMatch", message: /differs from the server time by more than 15 min\./ });
});

test("sessions that ended over an hour ago are forgotten", async (t) => {
  let now = Date.now();
  const emulator = await start(t, { now: () => now });
  const sts = client(t, emulator, USER);
  const { Credentials } = await sts.send(assume({ DurationSeconds: 900 }));
  const keys = { accessKeyID: Credentials?.AccessKeyId ?? "", secretAccessKey: Credentials?.SecretAccessKey ?? "", sessionToken: Credentials?.SessionToken ?? "" };
  const late = client(t, emulator, keys);
  const move = (ms: number): void => {
    now += ms;
    for (const one of [sts, late]) one.config.systemClockOffset = now - Date.now();
  };
  move(900_000);
  await sts.send(assume());
  await t.rejects(late.send(new GetCallerIdentityCommand({})), { name: "ExpiredToken" });
  move(3_601_000);
  await sts.send(assume());
  await t.rejects(late.send(new GetCallerIdentityCommand({})), { name: "InvalidClientTokenId" });
});

function tags(count: number): { Key: string; Value: string }[] {
  return Array.from({ length: count }, (_, i) => ({ Key: `k${i}`, Value: "v" }));
}

function arns(count: number): { arn: string }[] {
  return Array.from({ length: count }, (_, i) => ({ arn: `arn:aws:iam::aws:policy/P${i}` }));
}

test("every documented limit of AssumeRole", async (t) => {
  const emulator = await start(t);
  const [user, session] = [client(t, emulator, USER), client(t, emulator, SESSION)];
  const cases: readonly (readonly [name: string, caught: Partial<AssumeRoleCommandInput>, near: Partial<AssumeRoleCommandInput> | null, message: RegExp])[] = [
    ["a role ARN too short", { RoleArn: "arn:aws:iam::1:r" }, null, /'roleArn' failed to satisfy constraint: Member must have length greater than or equal to 20/],
    ["a user's ARN", { RoleArn: "arn:aws:iam::111111111111:user/u" }, null, /^arn:aws:iam::111111111111:user\/u is invalid$/],
    ["no ARN", { RoleArn: "this-is-not-an-arn-at-all" }, null, /is invalid$/],
    ["a session name of 1", { RoleSessionName: "a" }, { RoleSessionName: "ab" }, /'roleSessionName' .* greater than or equal to 2/],
    ["a session name of 65", { RoleSessionName: "a".repeat(65) }, { RoleSessionName: "a".repeat(64) }, /'roleSessionName' .* less than or equal to 64/],
    ["a session name with a space", { RoleSessionName: "a b" }, { RoleSessionName: "a@b" }, /'roleSessionName' .* regular expression pattern/],
    ["899 seconds", { DurationSeconds: 899 }, { DurationSeconds: 900 }, /'durationSeconds' .* greater than or equal to 900/],
    ["43201 seconds", { DurationSeconds: 43_201 }, { DurationSeconds: 43_200 }, /'durationSeconds' .* less than or equal to 43200/],
    ["an external ID of 1", { ExternalId: "x" }, { ExternalId: "x:/" }, /'externalId'/],
    ["51 tags", { Tags: tags(51) }, { Tags: tags(50) }, /'tags' .* less than or equal to 50/],
    ["a tag key twice, in another case", { Tags: [{ Key: "Team", Value: "a" }, { Key: "team", Value: "b" }] }, { Tags: [{ Key: "Téam", Value: "a b" }] }, /Tag keys are case insensitive/],
    ["a tag value with a semicolon", { Tags: [{ Key: "k", Value: "a;b" }] }, { Tags: [{ Key: "k", Value: "" }] }, /'tags\.member\.1\.Value'/],
    ["11 policies", { PolicyArns: arns(11) }, { PolicyArns: arns(10) }, /'policyArns' .* less than or equal to 10/],
    ["a token code of 5", { SerialNumber: "GAHT12345678", TokenCode: "12345" }, { SerialNumber: "GAHT12345678", TokenCode: "123456" }, /'tokenCode'/],
  ];
  for (const [name, caught, near, message] of cases) {
    await t.rejects(user.send(assume(caught)), { name: "ValidationError", $metadata: { httpStatusCode: 400 }, message }, name);
    if (near !== null) await t.resolves(user.send(assume(near)), `near miss of ${name}`);
  }
  await t.rejects(user.send(assume({ RoleSessionName: "a", DurationSeconds: 1 })), { message: /^2 validation errors detected: .*; / }, "all of them at once");
  await t.rejects(session.send(assume({ DurationSeconds: 3601 })), { name: "ValidationError", message: /1 hour session limit for roles assumed by role chaining/ });
  await t.resolves(session.send(assume({ DurationSeconds: 3600 })));
  await t.rejects(user.send(assume({ Policy: "{" })), { name: /MalformedPolicyDocument/ });
  await t.rejects(user.send(assume({ Policy: "7" })), { name: /MalformedPolicyDocument/ });
  await t.resolves(user.send(assume({ Policy: "{}" })));
});

test("other actions are InvalidAction", async (t) => {
  const emulator = await start(t);
  await t.rejects(client(t, emulator, USER).send(new GetSessionTokenCommand({})), {
    name: "InvalidAction", $metadata: { httpStatusCode: 400 }, message: "Could not find operation GetSessionToken for version 2011-06-15",
  });
});

test("faults on demand: refusals, throttling, silence, a reset, half a document, one in drops, one in megabytes, a redirect", async (t) => {
  const second = await start(t);
  const held = Promise.withResolvers<null>();
  const faultsByRole: Readonly<Record<string, () => Fault | Promise<null>>> = {
    denied: () => accessDenied(ROLE),
    throttled: () => THROTTLED,
    held: () => held.promise,
    hang: () => ({ do: "hang" }),
    reset: () => ({ do: "reset" }),
    truncate: () => ({ do: "truncate" }),
    drip: () => ({ do: "drip" }),
    flood: () => ({ do: "flood" }),
    redirect: () => ({ do: "redirect", location: second.url }),
    broken: () => { throw new Error("a fault of the hook"); },
  };
  const emulator = await start(t, {
    faults: ({ roleARN }) => faultsByRole[String(roleARN).split("/").at(-1) ?? ""]?.() ?? null,
  });
  const ask = (name: string, abortSignal?: AbortSignal): Promise<unknown> =>
    client(t, emulator, USER).send(assume({ RoleArn: `arn:aws:iam::111111111111:role/${name}` }), abortSignal === undefined ? {} : { abortSignal });
  await t.rejects(ask("denied"), { name: "AccessDenied", $metadata: { httpStatusCode: 403 } });
  await t.rejects(ask("throttled"), { name: "Throttling", message: "Rate exceeded", $metadata: { httpStatusCode: 400 } });
  await t.rejects(ask("broken"), { name: "InternalFailure", $metadata: { httpStatusCode: 500 } });
  await t.rejects(ask("reset"), { code: "ECONNRESET" });
  await t.rejects(ask("truncate"));
  await t.rejects(ask("drip", AbortSignal.timeout(200)));
  await t.resolves(ask("flood"), "the SDK by itself reads what it is given");
  await t.rejects(ask("redirect"));
  t.same(second.calls, [], "the SDK follows no redirect");
  const abort = new AbortController();
  const hanging = ask("hang", abort.signal);
  const holding = ask("held");
  held.resolve(null);
  await t.resolves(holding, "held back until the promise settled");
  abort.abort();
  await t.rejects(hanging, { name: "AbortError" });
});

function post(url: string, body: string, headers: Readonly<Record<string, string>> = {}): Promise<LoopbackAnswer> {
  return send(url, { method: "POST", headers, body });
}

test("the wire: XML in STS's namespace, a request id, and refusals before a signature is looked at", async (t) => {
  const { url } = await start(t);
  const body = "Action=GetCallerIdentity&Version=2011-06-15";
  const missing = await post(url, body);
  t.equal(missing.status, 403);
  t.match(missing.headers, { "content-type": "text/xml", "x-amzn-requestid": /^[0-9a-f-]{36}$/ });
  t.match(missing.body, /^<ErrorResponse xmlns="https:\/\/sts\.amazonaws\.com\/doc\/2011-06-15\/">\n {2}<Error>\n {4}<Type>Sender<\/Type>\n {4}<Code>MissingAuthenticationToken<\/Code>/);

  const signature = `Signature=${"0".repeat(64)}`;
  const scope = "AWS4-HMAC-SHA256 Credential=AKIAUSER/20260801/eu-west-1/sts/aws4_request";
  const authorized = async (authorization: string, headers: Readonly<Record<string, string>> = {}): Promise<string> =>
    /<Code>(.*)<\/Code>/.exec((await post(url, body, { authorization, "x-amz-date": "20260801T120000Z", ...headers })).body)?.[1] ?? "none";
  t.equal(await authorized("Bearer x"), "IncompleteSignature");
  t.equal(await authorized(`${scope}, SignedHeaders=host, ${signature}`), "IncompleteSignature", "the date must be signed");
  t.equal(await authorized(`${scope}, SignedHeaders=host;x-amz-date, ${signature}`, { "x-amz-security-token": "t" }), "IncompleteSignature", "and a token that is sent");
  t.equal(await authorized(`${scope}, SignedHeaders=host;x-amz-date, ${signature}`, { "x-amz-date": "yesterday" }), "IncompleteSignature");
  t.equal(await authorized(`${scope}, SignedHeaders=host;x-amz-date, ${signature}`, { "x-amz-date": "20260802T120000Z" }), "SignatureDoesNotMatch", "another day than the scope's");
  t.equal(await authorized(`${scope.replace("/sts/", "/s3/")}, SignedHeaders=host;x-amz-date, ${signature}`), "SignatureDoesNotMatch", "another service");
  t.equal(await authorized(`${scope}, SignedHeaders=host;x-amz-date, ${signature}`), "SignatureDoesNotMatch");

  t.match(await post(url, "Version=2011-06-15"), { status: 400, body: /<Code>MissingAction<\/Code>/ });
  t.match(await get(`${url}/?${body}`), { status: 400, body: /<Code>MissingAction<\/Code>/ });
  t.match(await post(url, `Action=${"x".repeat(65 * 1024)}`), { status: 413 });
  t.match(await post(url, "Action=A%3Cb%3E%26c"), { body: /MissingAuthenticationToken/ });
});

test("values are escaped in the XML", async (t) => {
  const emulator = await start(t, { faults: () => ({ do: "reject", code: "AccessDenied", status: 403, message: "<a> & b" }) });
  await t.rejects(client(t, emulator, USER).send(assume()), { message: "<a> & b" });
});

test("a taken port is an error, and IPv6 an address", async (t) => {
  const emulator = await start(t);
  await t.rejects(start(t, { port: Number(new URL(emulator.url).port) }), { code: "EADDRINUSE" });
  t.match((await start(t, { host: "::1" })).url, /^http:\/\/\[::1\]:\d+$/);
});
