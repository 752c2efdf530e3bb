import {
  AssumeRoleCommand, type AssumeRoleCommandInput, type AssumeRoleCommandOutput, GetCallerIdentityCommand,
  GetSessionTokenCommand, STSClient,
} from "@aws-sdk/client-sts";
import { type Test, test } from "tap";
import type { STSEmulator } from "../../../../cli/local/sts-emulator/emulator.ts";
import { accessDenied, type Fault, type FaultySTSOptions, startSTSEmulator, THROTTLED } from "./faults.ts";
import type { BaseCredentials } from "../../../../cli/local/sts-emulator/principals.ts";
import { get, type LoopbackAnswer, send } from "../../../loopback-request.ts";

const USER: BaseCredentials = {
  accessKeyID: "AKIAUSER", secretAccessKey: "user-secret", arn: "arn:aws:iam::999999999999:user/ops",
};
const SESSION: BaseCredentials = {
  accessKeyID: "ASIASESSION", secretAccessKey: "session-secret", sessionToken: "tok/+=",
  arn: "arn:aws:sts::999999999999:assumed-role/ack/pod",
};
const ROLE = "arn:aws:iam::111111111111:role/teams/team-a";

interface Keys {
  readonly accessKeyID: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

async function start(t: Test, options: Partial<FaultySTSOptions> = {}): Promise<STSEmulator> {
  const emulator = await startSTSEmulator({ baseCredentials: [USER, SESSION], ...options });
  t.teardown(() => emulator.close());
  return emulator;
}

function client(t: Test, { url }: STSEmulator, keys: Keys, region = "eu-west-1"): STSClient {
  const { accessKeyID: accessKeyId, secretAccessKey, sessionToken } = keys;
  const credentials = { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) };
  const sts = new STSClient({ endpoint: url, region, credentials, maxAttempts: 1 });
  t.teardown(() => sts.destroy());
  return sts;
}

function keysOf({ Credentials: session }: AssumeRoleCommandOutput): Keys {
  const { AccessKeyId: accessKeyID = "", SecretAccessKey: secretAccessKey = "", SessionToken: sessionToken = "" } =
    session ?? {};
  return { accessKeyID, secretAccessKey, sessionToken };
}

function assume(input: Partial<AssumeRoleCommandInput> = {}): AssumeRoleCommand {
  return new AssumeRoleCommand({ RoleArn: ROLE, RoleSessionName: "test", ...input });
}

test("assumes a role and returns the identity of the role session", async (t) => {
  const now = Date.parse("2026-08-01T12:00:00.700Z");
  const emulator = await start(t, { now: () => now });
  const sts = client(t, emulator, SESSION);
  // Without the offset, the SDK would sign with the local clock, and the emulator would reject the signature.
  sts.config.systemClockOffset = now - Date.now();
  const output = await sts.send(assume({ DurationSeconds: 900, SourceIdentity: "alice" }));
  const { Credentials, AssumedRoleUser, SourceIdentity } = output;
  t.match(Credentials, { AccessKeyId: /^ASIA[A-Z2-7]{16}$/, Expiration: new Date("2026-08-01T12:15:00Z") });
  const arn = "arn:aws:sts::111111111111:assumed-role/team-a/test";
  t.match(AssumedRoleUser, { Arn: arn, AssumedRoleId: /^AROA[0-9A-F]{17}:test$/ });
  t.equal(SourceIdentity, "alice");

  const other = await sts.send(assume());
  t.not(other.Credentials?.AccessKeyId, Credentials?.AccessKeyId, "each call returns a new key");
  const role = client(t, emulator, keysOf(output));
  role.config.systemClockOffset = now - Date.now();
  t.match(await role.send(new GetCallerIdentityCommand({})), { Account: "111111111111", Arn: arn });
  t.match(emulator.calls.at(-3), { action: "AssumeRole", roleARN: ROLE, sessionName: "test", durationSeconds: 900 });
});

test("returns the configured identity for base credentials in any region", async (t) => {
  const emulator = await start(t);
  const user = await client(t, emulator, USER).send(new GetCallerIdentityCommand({}));
  t.match(user, { Account: "999999999999", Arn: USER.arn, UserId: /^AIDA/ });
  const session = await client(t, emulator, SESSION, "us-gov-west-1").send(new GetCallerIdentityCommand({}));
  t.match(session, { Arn: SESSION.arn });
});

test("returns the error codes of STS for unknown, wrong and expired keys", async (t) => {
  let now = Date.now();
  const expiring = { ...SESSION, expirationMs: now + 60_000 };
  const emulator = await start(t, { now: () => now, baseCredentials: [USER, expiring] });
  const callAs = (keys: Keys): Promise<unknown> => client(t, emulator, keys).send(new GetCallerIdentityCommand({}));
  const [unknownKey, wrongSecret] = [{ ...USER, accessKeyID: "AKIAOTHER" }, { ...USER, secretAccessKey: "wrong" }];
  await t.rejects(callAs(unknownKey), { name: "InvalidClientTokenId", $metadata: { httpStatusCode: 403 } });
  await t.rejects(callAs(wrongSecret), { name: "SignatureDoesNotMatch", $metadata: { httpStatusCode: 403 } });
  const [otherToken, extraToken] = [{ ...SESSION, sessionToken: "tok" }, { ...USER, sessionToken: "tok" }];
  await t.rejects(callAs(otherToken), { name: "InvalidClientTokenId" }, "rejects the token of another session");
  await t.rejects(callAs(extraToken), { name: "InvalidClientTokenId" }, "rejects a token for a key that has no token");
  await t.resolves(callAs(SESSION));
  now += 60_000;
  await t.rejects(callAs(SESSION), {
    name: "ExpiredToken", $metadata: { httpStatusCode: 403 },
    message: "The security token included in the request is expired",
  });
  now += 14 * 60_000 - 5_000;
  await t.resolves(callAs(USER), "accepts a clock that is almost 15 minutes off");
  now += 10_000;
  const message = /differs from the server time by more than 15 min\./;
  await t.rejects(callAs(USER), { name: "SignatureDoesNotMatch", message });
});

test("deletes a session one hour after the session expired", async (t) => {
  let now = Date.now();
  const emulator = await start(t, { now: () => now });
  const sts = client(t, emulator, USER);
  const output = await sts.send(assume({ DurationSeconds: 900 }));
  const expired = client(t, emulator, keysOf(output));
  const advance = (ms: number): void => {
    now += ms;
    for (const one of [sts, expired]) one.config.systemClockOffset = now - Date.now();
  };
  advance(900_000);
  await sts.send(assume());
  await t.rejects(expired.send(new GetCallerIdentityCommand({})), { name: "ExpiredToken" });
  advance(3_601_000);
  await sts.send(assume());
  await t.rejects(expired.send(new GetCallerIdentityCommand({})), { name: "InvalidClientTokenId" });
});

function tags(count: number): { Key: string; Value: string }[] {
  return Array.from({ length: count }, (_, i) => ({ Key: `k${i}`, Value: "v" }));
}

function arns(count: number): { arn: string }[] {
  return Array.from({ length: count }, (_, i) => ({ arn: `arn:aws:iam::aws:policy/P${i}` }));
}

type Input = Partial<AssumeRoleCommandInput>;

/** Lists for each limit a value beyond the limit, the nearest valid value, and the expected error. */
const LIMITS: readonly (readonly [name: string, invalid: Input, valid: Input | null, message: RegExp])[] = [
  [
    "a role ARN too short", { RoleArn: "arn:aws:iam::1:r" }, null,
    /'roleArn' failed to satisfy constraint: Member must have length greater than or equal to 20/,
  ],
  [
    "a user's ARN", { RoleArn: "arn:aws:iam::111111111111:user/u" }, null,
    /^arn:aws:iam::111111111111:user\/u is invalid$/,
  ],
  ["text that is not an ARN", { RoleArn: "this-is-not-an-arn-at-all" }, null, /is invalid$/],
  [
    "a session name of 1", { RoleSessionName: "a" }, { RoleSessionName: "ab" },
    /'roleSessionName' .* greater than or equal to 2/,
  ],
  [
    "a session name of 65", { RoleSessionName: "a".repeat(65) }, { RoleSessionName: "a".repeat(64) },
    /'roleSessionName' .* less than or equal to 64/,
  ],
  [
    "a session name with a space", { RoleSessionName: "a b" }, { RoleSessionName: "a@b" },
    /'roleSessionName' .* regular expression pattern/,
  ],
  [
    "899 seconds", { DurationSeconds: 899 }, { DurationSeconds: 900 },
    /'durationSeconds' .* greater than or equal to 900/,
  ],
  [
    "43201 seconds", { DurationSeconds: 43_201 }, { DurationSeconds: 43_200 },
    /'durationSeconds' .* less than or equal to 43200/,
  ],
  ["an external ID of 1", { ExternalId: "x" }, { ExternalId: "x:/" }, /'externalId'/],
  ["51 tags", { Tags: tags(51) }, { Tags: tags(50) }, /'tags' .* less than or equal to 50/],
  [
    "a tag key twice, in another case", { Tags: [{ Key: "Team", Value: "a" }, { Key: "team", Value: "b" }] },
    { Tags: [{ Key: "Téam", Value: "a b" }] }, /Tag keys are case insensitive/,
  ],
  [
    "a tag value with a semicolon", { Tags: [{ Key: "k", Value: "a;b" }] }, { Tags: [{ Key: "k", Value: "" }] },
    /'tags\.member\.1\.Value'/,
  ],
  ["11 policies", { PolicyArns: arns(11) }, { PolicyArns: arns(10) }, /'policyArns' .* less than or equal to 10/],
  [
    "a token code of 5", { SerialNumber: "GAHT12345678", TokenCode: "12345" },
    { SerialNumber: "GAHT12345678", TokenCode: "123456" }, /'tokenCode'/,
  ],
];

test("rejects AssumeRole parameters that exceed the limits in the AWS documentation", async (t) => {
  const emulator = await start(t);
  const [user, session] = [client(t, emulator, USER), client(t, emulator, SESSION)];
  for (const [name, invalid, valid, message] of LIMITS) {
    const error = { name: "ValidationError", $metadata: { httpStatusCode: 400 }, message };
    await t.rejects(user.send(assume(invalid)), error, name);
    if (valid !== null) await t.resolves(user.send(assume(valid)), `valid value next to ${name}`);
  }
  const two = assume({ RoleSessionName: "a", DurationSeconds: 1 });
  await t.rejects(user.send(two), { message: /^2 validation errors detected: .*; / }, "lists all errors");
  await t.rejects(session.send(assume({ DurationSeconds: 3601 })), {
    name: "ValidationError", message: /1 hour session limit for roles assumed by role chaining/,
  });
  await t.resolves(session.send(assume({ DurationSeconds: 3600 })));
  await t.rejects(user.send(assume({ Policy: "{" })), { name: /MalformedPolicyDocument/ });
  await t.rejects(user.send(assume({ Policy: "7" })), { name: /MalformedPolicyDocument/ });
  await t.resolves(user.send(assume({ Policy: "{}" })));
});

test("rejects an unsupported action with InvalidAction", async (t) => {
  const emulator = await start(t);
  await t.rejects(client(t, emulator, USER).send(new GetSessionTokenCommand({})), {
    name: "InvalidAction", $metadata: { httpStatusCode: 400 },
    message: "Could not find operation GetSessionToken for version 2011-06-15",
  });
});

test("simulates errors, throttling, hangs, resets, redirects, and partial, slow and huge responses", async (t) => {
  const second = await start(t);
  const delay = Promise.withResolvers<null>();
  const faultsByRole: Readonly<Record<string, () => Fault | Promise<null>>> = {
    denied: () => accessDenied(ROLE),
    throttled: () => THROTTLED,
    delay: () => delay.promise,
    hang: () => ({ do: "hang" }),
    reset: () => ({ do: "reset" }),
    truncate: () => ({ do: "truncate" }),
    drip: () => ({ do: "drip" }),
    flood: () => ({ do: "flood" }),
    redirect: () => ({ do: "redirect", location: second.url }),
    broken: () => { throw new Error("planted error of the hook"); },
  };
  const emulator = await start(t, {
    faults: ({ roleARN }) => faultsByRole[String(roleARN).split("/").at(-1) ?? ""]?.() ?? null,
  });
  const callRole = (name: string, abortSignal?: AbortSignal): Promise<unknown> =>
    client(t, emulator, USER).send(
      assume({ RoleArn: `arn:aws:iam::111111111111:role/${name}` }), abortSignal === undefined ? {} : { abortSignal },
    );
  await t.rejects(callRole("denied"), { name: "AccessDenied", $metadata: { httpStatusCode: 403 } });
  await t.rejects(callRole("throttled"), {
    name: "Throttling", message: "Rate exceeded", $metadata: { httpStatusCode: 400 },
  });
  await t.rejects(callRole("broken"), { name: "InternalFailure", $metadata: { httpStatusCode: 500 } });
  await t.rejects(callRole("reset"), { code: "ECONNRESET" });
  await t.rejects(callRole("truncate"));
  await t.rejects(callRole("drip", AbortSignal.timeout(200)));
  await t.resolves(callRole("flood"), "the SDK has no size limit for responses");
  await t.rejects(callRole("redirect"));
  t.same(second.calls, [], "the SDK does not follow a redirect");
  const abort = new AbortController();
  const hung = callRole("hang", abort.signal);
  const delayed = callRole("held");
  delay.resolve(null);
  await t.resolves(delayed, "the response is delayed until the promise settles");
  abort.abort();
  await t.rejects(hung, { name: "AbortError" });
});

function post(url: string, body: string, headers: Readonly<Record<string, string>> = {}): Promise<LoopbackAnswer> {
  return send(url, { method: "POST", headers, body });
}

test("returns XML in the STS namespace, includes a request ID, and rejects a malformed signature", async (t) => {
  const { url } = await start(t);
  const body = "Action=GetCallerIdentity&Version=2011-06-15";
  const missing = await post(url, body);
  t.equal(missing.status, 403);
  t.match(missing.headers, { "content-type": "text/xml", "x-amzn-requestid": /^[0-9a-f-]{36}$/ });
  t.ok(missing.body.startsWith([
    '<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">', "  <Error>", "    <Type>Sender</Type>",
    "    <Code>MissingAuthenticationToken</Code>",
  ].join("\n")), missing.body);

  const signature = `Signature=${"0".repeat(64)}`;
  const scope = "AWS4-HMAC-SHA256 Credential=AKIAUSER/20260801/eu-west-1/sts/aws4_request";
  const codeFor = async (authorization: string, headers: Readonly<Record<string, string>> = {}): Promise<string> => {
    const response = await post(url, body, { authorization, "x-amz-date": "20260801T120000Z", ...headers });
    return /<Code>(.*)<\/Code>/.exec(response.body)?.[1] ?? "none";
  };
  const signed = `${scope}, SignedHeaders=host;x-amz-date, ${signature}`;
  const withoutDate = `${scope}, SignedHeaders=host, ${signature}`;
  t.equal(await codeFor("Bearer x"), "IncompleteSignature");
  t.equal(await codeFor(withoutDate), "IncompleteSignature", "rejects an unsigned date");
  const token = await codeFor(signed, { "x-amz-security-token": "t" });
  t.equal(token, "IncompleteSignature", "rejects an unsigned token");
  t.equal(await codeFor(signed, { "x-amz-date": "yesterday" }), "IncompleteSignature");
  const otherDay = await codeFor(signed, { "x-amz-date": "20260802T120000Z" });
  t.equal(otherDay, "SignatureDoesNotMatch", "rejects a date that differs from the date of the credential scope");
  const otherService = await codeFor(signed.replace("/sts/", "/s3/"));
  t.equal(otherService, "SignatureDoesNotMatch", "rejects a credential scope of another service");
  t.equal(await codeFor(signed), "SignatureDoesNotMatch");

  t.match(await post(url, "Version=2011-06-15"), { status: 400, body: /<Code>MissingAction<\/Code>/ });
  t.match(await get(`${url}/?${body}`), { status: 400, body: /<Code>MissingAction<\/Code>/ });
  t.match(await post(url, `Action=${"x".repeat(65 * 1024)}`), { status: 413 });
  t.match(await post(url, "Action=A%3Cb%3E%26c"), { body: /MissingAuthenticationToken/ });
});

test("escapes special characters in the XML response", async (t) => {
  const fault: Fault = { do: "reject", code: "AccessDenied", status: 403, message: "<a> & b" };
  await t.rejects(client(t, await start(t, { faults: () => fault }), USER).send(assume()), { message: "<a> & b" });
});

test("rejects with an error if the port is in use, and formats IPv6 addresses", async (t) => {
  const emulator = await start(t);
  await t.rejects(start(t, { port: Number(new URL(emulator.url).port) }), { code: "EADDRINUSE" });
  t.match((await start(t, { host: "::1" })).url, /^http:\/\/\[::1\]:\d+$/);
});
