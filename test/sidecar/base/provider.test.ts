import { test } from "tap";
import { startSTSEmulator } from "../../../cli/local/sts-emulator/emulator.ts";
import type { Fault } from "../../../cli/local/sts-emulator/faults.ts";
import { defaultProviderChain, refuseOwnAddress } from "../../../sidecar/base/provider.ts";

const LISTEN = { host: "127.0.0.1", port: 9780 };

const ENDPOINTS = ["AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_EC2_METADATA_SERVICE_ENDPOINT"] as const;

test("no endpoint of the chain may be this sidecar itself, under any of its names", async (t) => {
  const own = ["127.0.0.1:9780", "localhost:9780", "LOCALHOST.:9780", "a.localhost:9780", "[::1]:9780", "127.0.0.2:9780", "2130706433:9780", "[::ffff:127.0.0.1]:9780", "0.0.0.0:9780", "[::]:9780"];
  const others = ["169.254.170.23/v1/credentials", "127.0.0.1:9781/v1/credentials", "localhost/v1", "example:9780/", "[fd00:ec2::254]:9780", "[::ffff:10.0.0.1]:9780", "localhost.example:9780"];
  for (const name of ENDPOINTS) {
    for (const host of own) {
      t.throws(() => refuseOwnAddress({ environment: { [name]: `http://${host}/v1/credentials` }, stsEndpoint: null }, LISTEN), {
        code: "ERR_CONFIG_INVALID", message: new RegExp(`^${name} names this sidecar's own address \\(--listen\\)\\. `),
      }, host);
    }
    for (const url of [undefined, "", "no url", "https://localhost/v1", ...others.map((host) => `http://${host}`)]) {
      t.doesNotThrow(() => refuseOwnAddress({ environment: { [name]: url }, stsEndpoint: null }, LISTEN), String(url));
    }
    t.throws(() => refuseOwnAddress({ environment: { [name]: "http://localhost/" }, stsEndpoint: null }, { host: "127.0.0.1", port: 80 }), { code: "ERR_CONFIG_INVALID" });
    t.throws(() => refuseOwnAddress({ environment: { [name]: "https://localhost/" }, stsEndpoint: null }, { host: "127.0.0.1", port: 443 }), { code: "ERR_CONFIG_INVALID" });
  }
  const both = Object.fromEntries(ENDPOINTS.map((name) => [name, "http://127.0.0.1:9780"]));
  t.throws(() => refuseOwnAddress({ environment: both, stsEndpoint: null }, LISTEN), { message: /^AWS_CONTAINER_[^\n]*\nAWS_EC2_METADATA_/ }, "all faults at once");
  t.doesNotThrow(() => refuseOwnAddress({ environment: { AWS_ENDPOINT_URL_STS: "http://127.0.0.1:9780/sts", AWS_ENDPOINT_URL: "http://127.0.0.1:9780" }, stsEndpoint: null }, LISTEN), "never asked");
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

test("an STS endpoint that is the sidecar's own is refused; another port, host or none is not", async (t) => {
  for (const endpoint of ["http://127.0.0.1:9780/sts", "http://localhost:9780", "http://[::1]:9780/"]) {
    t.throws(() => refuseOwnAddress({ environment: {}, stsEndpoint: endpoint }, LISTEN), { code: "ERR_CONFIG_INVALID", message: /^--sts-endpoint names this sidecar's own address/ }, endpoint);
  }
  for (const endpoint of ["http://127.0.0.1:9782", "https://sts.eu-west-1.amazonaws.com", null]) t.doesNotThrow(() => refuseOwnAddress({ environment: {}, stsEndpoint: endpoint }, LISTEN), String(endpoint));
});
