import { test } from "tap";
import { type Fault, startSTSEmulator } from "../../cli/local/sts-emulator/emulator.ts";
import { defaultProviderChain, refuseOwnAddress } from "../../sidecar/base-credentials.ts";

const LISTEN = { host: "127.0.0.1", port: 9780 };

test("the container endpoint must not be this sidecar itself, under any of its names", async (t) => {
  for (const host of ["127.0.0.1:9780", "localhost:9780", "[::1]:9780", "127.0.0.2:9780"]) {
    t.throws(() => refuseOwnAddress({ AWS_CONTAINER_CREDENTIALS_FULL_URI: `http://${host}/v1/credentials` }, LISTEN), {
      code: "ERR_CONFIG_INVALID", message: /^AWS_CONTAINER_CREDENTIALS_FULL_URI names this sidecar's own address \(--listen\)\. /,
    }, host);
  }
  for (const uri of [undefined, "", "no url", "http://169.254.170.23/v1/credentials", "http://127.0.0.1:9781/v1/credentials", "https://localhost/v1", "http://example:9780/"]) {
    t.doesNotThrow(() => refuseOwnAddress({ AWS_CONTAINER_CREDENTIALS_FULL_URI: uri }, LISTEN), String(uri));
  }
  t.throws(() => refuseOwnAddress({ AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://localhost/" }, { host: "127.0.0.1", port: 80 }), { code: "ERR_CONFIG_INVALID" });
  t.throws(() => refuseOwnAddress({ AWS_CONTAINER_CREDENTIALS_FULL_URI: "https://localhost/" }, { host: "127.0.0.1", port: 443 }), { code: "ERR_CONFIG_INVALID" });
});

test("the SDK's default chain is asked, anew each time", async (t) => {
  const home = t.testdir({});
  const env: Record<string, string> = { AWS_ACCESS_KEY_ID: "AKIA1", AWS_SECRET_ACCESS_KEY: "s1", HOME: home, AWS_CONFIG_FILE: `${home}/c`, AWS_SHARED_CREDENTIALS_FILE: `${home}/k` };
  t.intercept(process, "env", { value: env });
  const provide = defaultProviderChain({ region: "eu-west-1", endpoint: null });
  t.same(await provide(), { accessKeyID: "AKIA1", secretAccessKey: "s1", sessionToken: null, expirationMs: null });
  Object.assign(env, { AWS_ACCESS_KEY_ID: "ASIA2", AWS_SESSION_TOKEN: "t2", AWS_CREDENTIAL_EXPIRATION: "2099-01-01T00:00:00Z" });
  t.same(await provide(), { accessKeyID: "ASIA2", secretAccessKey: "s1", sessionToken: "t2", expirationMs: Date.parse("2099-01-01T00:00:00Z") });
  t.match(await defaultProviderChain({ region: null, endpoint: null })(), { accessKeyID: "ASIA2" });
});

test("web identity is proved to the sidecar's STS, whatever AWS_ENDPOINT_URL* say", async (t) => {
  const denied: Fault = { do: "refuse", code: "AccessDenied", status: 403, message: "no" };
  const [right, trap] = await Promise.all([1, 2].map(() => startSTSEmulator({ baseCredentials: [], faults: () => denied })));
  if (right === undefined || trap === undefined) return;
  t.teardown(() => Promise.all([right.close(), trap.close()]));
  const home = t.testdir({ token: "a-web-identity-token", config: `[default]\nendpoint_url = ${trap.url}\n` });
  const env = {
    HOME: home, AWS_CONFIG_FILE: `${home}/config`, AWS_SHARED_CREDENTIALS_FILE: `${home}/k`, AWS_EC2_METADATA_DISABLED: "true",
    AWS_ROLE_ARN: "arn:aws:iam::999999999999:role/ack", AWS_WEB_IDENTITY_TOKEN_FILE: `${home}/token`,
    AWS_ENDPOINT_URL: trap.url, AWS_ENDPOINT_URL_STS: trap.url,
  };
  t.intercept(process, "env", { value: env });
  await t.rejects(defaultProviderChain({ region: "eu-west-1", endpoint: right.url })());
  t.match(right.calls, [{ action: "AssumeRoleWithWebIdentity", roleARN: env.AWS_ROLE_ARN }]);
  t.same(trap.calls, []);
});
