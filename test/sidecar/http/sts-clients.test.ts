import { AssumeRoleCommand, GetCallerIdentityCommand, STSClient } from "@aws-sdk/client-sts";
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
