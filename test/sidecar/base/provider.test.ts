import { test } from "tap";
import {
  defaultProviderChain, type OutboundAddresses, rejectOwnAddress, usesPodIdentity,
} from "../../../sidecar/base/provider.ts";

const LISTEN = { host: "127.0.0.1", port: 9780 };

const ENDPOINTS = ["AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_EC2_METADATA_SERVICE_ENDPOINT"] as const;

test("rejects a credential provider whose endpoint is an address of the sidecar", async (t) => {
  const own = [
    "127.0.0.1:9780", "localhost:9780", "LOCALHOST.:9780", "a.localhost:9780", "[::1]:9780", "127.0.0.2:9780",
    "2130706433:9780", "[::ffff:127.0.0.1]:9780", "0.0.0.0:9780", "[::]:9780",
  ];
  const others = [
    "169.254.170.23/v1/credentials", "127.0.0.1:9781/v1/credentials", "localhost/v1", "example:9780/",
    "[fd00:ec2::254]:9780", "[::ffff:10.0.0.1]:9780", "localhost.example:9780",
  ];
  const reject = (environment: OutboundAddresses["environment"], port = LISTEN.port): void =>
    rejectOwnAddress({ environment, stsEndpoint: null }, { ...LISTEN, port });
  for (const name of ENDPOINTS) {
    for (const host of own) {
      const message = new RegExp(`^${name} names this sidecar's own address \\(--listen\\)\\. `);
      const environment = { [name]: `http://${host}/v1/credentials` };
      t.throws(() => reject(environment), { code: "ERR_CONFIG_INVALID", message }, host);
    }
    for (const url of [undefined, "", "no url", "https://localhost/v1", ...others.map((host) => `http://${host}`)]) {
      t.doesNotThrow(() => reject({ [name]: url }), String(url));
    }
    t.throws(() => reject({ [name]: "http://localhost/" }, 80), { code: "ERR_CONFIG_INVALID" });
    t.throws(() => reject({ [name]: "https://localhost/" }, 443), { code: "ERR_CONFIG_INVALID" });
  }
  const both = Object.fromEntries(ENDPOINTS.map((name) => [name, "http://127.0.0.1:9780"]));
  t.throws(() => reject(both), { message: /^AWS_CONTAINER_[^\n]*\nAWS_EC2_METADATA_/ }, "one error reports all faults");
  const unused = { AWS_ENDPOINT_URL_STS: "http://127.0.0.1:9780/sts", AWS_ENDPOINT_URL: "http://127.0.0.1:9780" };
  t.doesNotThrow(() => reject(unused), "the sidecar does not use these variables");
});

test("resolves the default chain of the SDK for each refresh", async (t) => {
  const home = t.testdir({});
  const env: Record<string, string> = {
    AWS_ACCESS_KEY_ID: "AKIA1", AWS_SECRET_ACCESS_KEY: "s1", HOME: home, AWS_CONFIG_FILE: `${home}/c`,
    AWS_SHARED_CREDENTIALS_FILE: `${home}/k`,
  };
  t.intercept(process, "env", { value: env });
  const provide = defaultProviderChain({ region: "eu-west-1", endpoint: null });
  t.same(await provide(), { accessKeyID: "AKIA1", secretAccessKey: "s1", sessionToken: null, expirationMs: null });
  const expiration = "2099-01-01T00:00:00Z";
  Object.assign(env, { AWS_ACCESS_KEY_ID: "ASIA2", AWS_SESSION_TOKEN: "t2", AWS_CREDENTIAL_EXPIRATION: expiration });
  t.same(await provide(), {
    accessKeyID: "ASIA2", secretAccessKey: "s1", sessionToken: "t2", expirationMs: Date.parse(expiration),
  });
  t.match(await defaultProviderChain({ region: null, endpoint: null })(), { accessKeyID: "ASIA2" });
});

test("rejects an STS endpoint that is an address of the sidecar", async (t) => {
  const reject = (stsEndpoint: string | null): void => rejectOwnAddress({ environment: {}, stsEndpoint }, LISTEN);
  const message = /^--sts-endpoint names this sidecar's own address/;
  for (const endpoint of ["http://127.0.0.1:9780/sts", "http://localhost:9780", "http://[::1]:9780/"]) {
    t.throws(() => reject(endpoint), { code: "ERR_CONFIG_INVALID", message }, endpoint);
  }
  for (const endpoint of ["http://127.0.0.1:9782", "https://sts.eu-west-1.amazonaws.com", null]) {
    t.doesNotThrow(() => reject(endpoint), String(endpoint));
  }
});

test("finds EKS Pod Identity by the address of its agent, unless the chain prefers other credentials", (t) => {
  const name = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
  for (const host of ["169.254.170.23", "[fd00:ec2::23]"]) {
    const environment = { [name]: `http://${host}/v1/credentials` };
    t.ok(usesPodIdentity(environment));
    for (const other of ["AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE"]) {
      t.notOk(usesPodIdentity({ ...environment, [other]: "x" }));
      t.ok(usesPodIdentity({ ...environment, [other]: "" }));
    }
  }
  for (const uri of ["http://169.254.170.2/v2", "http://127.0.0.1:9780/v1/credentials", "169.254.170.23", ""]) {
    t.notOk(usesPodIdentity({ [name]: uri }), uri);
  }
  t.notOk(usesPodIdentity({}));
  t.end();
});
