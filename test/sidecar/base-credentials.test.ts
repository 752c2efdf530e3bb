import { test } from "tap";
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
  const provide = defaultProviderChain("eu-west-1");
  t.same(await provide(), { accessKeyID: "AKIA1", secretAccessKey: "s1", sessionToken: null, expirationMs: null });
  Object.assign(env, { AWS_ACCESS_KEY_ID: "ASIA2", AWS_SESSION_TOKEN: "t2", AWS_CREDENTIAL_EXPIRATION: "2099-01-01T00:00:00Z" });
  t.same(await provide(), { accessKeyID: "ASIA2", secretAccessKey: "s1", sessionToken: "t2", expirationMs: Date.parse("2099-01-01T00:00:00Z") });
  t.match(await defaultProviderChain(null)(), { accessKeyID: "ASIA2" });
});
