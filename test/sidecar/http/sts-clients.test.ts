import {
  AssumeRoleCommand, AssumeRoleWithWebIdentityCommand, GetCallerIdentityCommand, STSClient,
} from "@aws-sdk/client-sts";
import { type Test, test } from "tap";
import { stringAt } from "../../../shared/formats/json.ts";
import { get, type Running, start } from "../running-sidecar.ts";
import { ROLE_A } from "../sidecar-under-test.ts";
import type { VendedKeys } from "../sts/signed-request.ts";

async function keysOf({ sidecar }: Running, path = "/v1/credentials"): Promise<VendedKeys> {
  const answer: unknown = JSON.parse((await get(sidecar.address, path)).body);
  const text = (name: string): string => stringAt(answer, name) ?? "";
  return { AccessKeyId: text("AccessKeyId"), SecretAccessKey: text("SecretAccessKey"), Token: text("Token") };
}

function client(t: Test, { sidecar }: Running, keys: VendedKeys, path = "/sts"): STSClient {
  const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey, Token: sessionToken } = keys;
  const sts = new STSClient({
    endpoint: `http://${sidecar.address}${path}`,
    region: "eu-west-1",
    maxAttempts: 1,
    credentials: { accessKeyId, secretAccessKey, sessionToken },
  });
  t.teardown(() => sts.destroy());
  return sts;
}

test("the AWS SDK can call GetCallerIdentity and AssumeRole, with or without a slash after the URL", async (t) => {
  const running = await start(t);
  for (const path of ["/sts", "/sts/"]) {
    const sts = client(t, running, await keysOf(running), path);
    t.match(await sts.send(new GetCallerIdentityCommand({})), {
      Account: "999999999999",
      Arn: "arn:aws:sts::999999999999:assumed-role/ack/pod",
    });
    const { Credentials, AssumedRoleUser, PackedPolicySize, $metadata } = await sts.send(
      new AssumeRoleCommand({ RoleArn: ROLE_A, RoleSessionName: "aws-go-sdk-1", DurationSeconds: 900, Policy: "{}" }),
    );
    t.match(AssumedRoleUser, {
      Arn: "arn:aws:sts::111111111111:assumed-role/a/ack-role-resolver",
      AssumedRoleId: /^AROA\w+:ack-role-resolver$/,
    });
    t.equal(PackedPolicySize, 1, "the value comes from upstream STS");
    t.match($metadata.requestId, /^[0-9a-f-]{36}$/);
    const keys = {
      AccessKeyId: Credentials?.AccessKeyId ?? "",
      SecretAccessKey: Credentials?.SecretAccessKey ?? "",
      Token: Credentials?.SessionToken ?? "",
    };
    t.match(
      await client(t, running, keys, path).send(new GetCallerIdentityCommand({})),
      { Account: "111111111111" },
      "the caller identity of a role session is the session itself",
    );
    await t.rejects(
      client(t, running, keys, path).send(new AssumeRoleCommand({ RoleArn: ROLE_A, RoleSessionName: "ab" })),
      { name: "AccessDenied", $metadata: { httpStatusCode: 403, attempts: 1 } },
    );
  }
  t.same(
    running.sts.calls.map(({ action }) => action),
    ["GetCallerIdentity", "AssumeRole"],
    "one upstream call for each action",
  );
  t.notMatch(running.logLines.join(""), /planted/);
});

test("returns errors whose code, status and message the SDK can parse", async (t) => {
  const running = await start(t, {}, {}, ({ action }) =>
    action === "AssumeRole" ? { do: "reject", code: "AccessDenied", status: 403, message: "no trust" } : null,
  );
  const sts = client(t, running, await keysOf(running));
  await t.rejects(sts.send(new AssumeRoleCommand({ RoleArn: ROLE_A, RoleSessionName: "ab" })), {
    name: "AccessDenied",
    message: /no trust/,
    $metadata: { httpStatusCode: 403 },
  });
  await t.rejects(
    sts.send(new AssumeRoleCommand({ RoleArn: "arn:aws:iam::111111111111:role/b", RoleSessionName: "ab" })),
    { name: "AccessDenied", message: /ERR_SELECTOR_NOT_GRANTED/ },
  );
  await t.rejects(sts.send(new AssumeRoleCommand({ RoleArn: ROLE_A, RoleSessionName: "a b", DurationSeconds: 899 })), {
    name: "ValidationError",
    message: /^2 validation errors detected: /,
  });
  await t.rejects(
    sts.send(
      new AssumeRoleWithWebIdentityCommand({ RoleArn: ROLE_A, RoleSessionName: "ab", WebIdentityToken: "planted-jwt" }),
    ),
    { name: "AccessDenied", message: /does not support AssumeRoleWithWebIdentity/ },
  );
  const stranger = client(t, running, { AccessKeyId: "ASIAUNKNOWN", SecretAccessKey: "s", Token: "t" });
  await t.rejects(stranger.send(new GetCallerIdentityCommand({})), {
    name: "InvalidClientTokenId",
    $metadata: { httpStatusCode: 403 },
  });
});

test("accepts credentials that were issued before a restart if the state directory contains them", async (t) => {
  const stateDir = t.testdir({});
  const before = await start(t, { stateDir });
  const [base, role] = [await keysOf(before), await keysOf(before, "/v1/credentials/selectors/team-a")];
  // The first sidecar is not closed, which simulates a killed process.
  const after = await start(t, { stateDir });
  const sts = client(t, after, base);
  t.match(await sts.send(new GetCallerIdentityCommand({})), { Account: "999999999999" });
  t.match(await sts.send(new AssumeRoleCommand({ RoleArn: ROLE_A, RoleSessionName: "ab" })), {
    Credentials: { AccessKeyId: /^ASIA/ },
  });
  t.match(await client(t, after, role).send(new GetCallerIdentityCommand({})), { Account: "111111111111" });
  const other = await start(t, { stateDir: t.testdir({}) });
  await t.rejects(
    client(t, other, base).send(new GetCallerIdentityCommand({})),
    { name: "InvalidClientTokenId" },
    "another state directory does not have the keys",
  );
});

test("issues identity-only keys that STS rejects but the sidecar still accepts after a restart", async (t) => {
  const stateDir = t.testdir({});
  const running = await start(t, { base: "identity-only", stateDir });
  const keys = await keysOf(running);
  t.match(await client(t, running, keys).send(new AssumeRoleCommand({ RoleArn: ROLE_A, RoleSessionName: "ab" })), {
    Credentials: { AccessKeyId: /^ASIA/ },
  });
  const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey, Token: sessionToken } = keys;
  const upstream = new STSClient({
    endpoint: running.sts.url,
    region: "eu-west-1",
    maxAttempts: 1,
    credentials: { accessKeyId, secretAccessKey, sessionToken },
  });
  t.teardown(() => upstream.destroy());
  await t.rejects(upstream.send(new GetCallerIdentityCommand({})), { name: "InvalidClientTokenId" });
  const after = await start(t, { base: "identity-only", stateDir });
  t.match(await client(t, after, keys).send(new AssumeRoleCommand({ RoleArn: ROLE_A, RoleSessionName: "ab" })), {
    Credentials: { AccessKeyId: /^ASIA/ },
  });
});
