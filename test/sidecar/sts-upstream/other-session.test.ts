import { type Test, test } from "tap";
import { NO_EXTRAS, type SessionRequest } from "../../../shared/core/session.ts";
import type { Credentials, SigningCredentials } from "../../../sidecar/credentials/session.ts";
import { createSTS } from "../../../sidecar/sts-upstream/client.ts";
import { startFake, stsResult } from "../loopback-providers.ts";

const BASE: SigningCredentials = {
  accessKeyID: "AKIA", secretAccessKey: "secret", sessionToken: "planted-token", expirationMs: null,
};
const REQUEST: SessionRequest = {
  ...NO_EXTRAS, roleARN: "arn:aws:iam::111111111111:role/teams/a/deploy", sessionName: "ack", durationSeconds: 3600,
  policy: null, policyARNs: [], transitiveTagKeys: [],
};
const SESSION = "arn:aws:sts::111111111111:assumed-role/deploy/ack";
const OTHERS = [
  SESSION.replace("aws", "aws-cn"), SESSION.replace("111111111111", "222222222222"),
  SESSION.replace("deploy", "admin"), SESSION.replace("deploy", "Deploy"), SESSION.replace("deploy", "teams/a/deploy"),
  `${SESSION}2`, SESSION.slice(0, -4), REQUEST.roleARN, "",
];

/** Calls an STS whose responses contain a session with the ARN, which is missing if it is null. */
async function assume(
  t: Test, action: "AssumeRole" | "AssumeRoleWithWebIdentity", arn: string | null,
): Promise<{ readonly call: Promise<Credentials>; readonly calls: readonly string[] }> {
  const keys = "<AccessKeyId>ASIA</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>";
  const credentials = `<Credentials>${keys}<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials>`;
  const user = `${arn === null ? "" : `<Arn>${arn}</Arn>`}<AssumedRoleId>AROA:ack</AssumedRoleId>`;
  const body = stsResult(action, `${credentials}<AssumedRoleUser>${user}</AssumedRoleUser>`);
  const fake = await startFake(t, () => ({ status: 200, body }));
  const calls: string[] = [];
  const onCall = (name: string, code: string): void => void calls.push(`${name} ${code}`);
  const sts = createSTS({ endpoint: fake.url, region: null, onCall });
  const { signal } = new AbortController();
  const call = action === "AssumeRole"
    ? sts.assumeRole(BASE, REQUEST, signal) : sts.assumeRoleWithWebIdentity("planted-token", REQUEST, signal);
  return { call, calls };
}

for (const action of ["AssumeRole", "AssumeRoleWithWebIdentity"] as const) {
  test(`accepts from ${action} the session that it requested`, async (t) => {
    const { call, calls } = await assume(t, action, SESSION);
    t.match(await call, { arn: SESSION, accountID: "111111111111", accessKeyID: "ASIA" });
    t.same(calls, [`${action} ok`]);
  });

  test(`rejects from ${action} a session of another partition, account, role or session name`, async (t) => {
    for (const other of OTHERS) {
      const { call, calls } = await assume(t, action, other);
      const text = `STS returned for ${action} the session "${other}" instead of "${SESSION}". `;
      const message = `${text}Check the STS endpoint, and any proxy in front of it.`;
      await t.rejects(call, { code: "ERR_STS_UNAVAILABLE", message });
      t.same(calls, [`${action} other`]);
    }
    const { call } = await assume(t, action, null);
    const message = `STS returned for ${action} a session without an ARN instead of "${SESSION}".`;
    await t.rejects(call, { code: "ERR_STS_UNAVAILABLE", message });
  });

  test(`does not repeat a secret of the call that ${action} returns as its session`, async (t) => {
    const { call } = await assume(t, action, `${SESSION}planted-token\u0085`);
    const error: unknown = await call.catch((reason: unknown) => reason);
    t.match(String(error), `the session "${SESSION}[redacted]\\u0085" instead`);
  });
}
