import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import path from "node:path";
import { type Test, test } from "tap";
import { boundAddress } from "../../../shared/server/listen-address.ts";

const ROOT = path.join(import.meta.dirname, "../../..");
/** Calls STS, like the sidecar: with a connection of its own, and with the provider chain of the base identity. */
const SCRIPT = `
  import { GetCallerIdentityCommand } from "@aws-sdk/client-sts";
  import { makeProviderChain } from "./sidecar/base/provider-chain.ts";
  import { STSConnection } from "./sidecar/sts-upstream/connection.ts";
  const signer = { accessKeyID: "a", secretAccessKey: "b", sessionToken: null, expirationMs: null };
  const connection = new STSConnection({ endpoint: "https://127.0.0.1:1", region: "eu-west-1" });
  await connection.send(signer, (client) => client.send(new GetCallerIdentityCommand({}))).catch(() => {});
  await makeProviderChain({ region: "eu-west-1", endpoint: "https://127.0.0.2:1" })().catch(() => {});
`;

/** Returns the hosts to which a process with these variables connects through an HTTP proxy. */
async function proxied(t: Test, environment: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const hosts: string[] = [];
  const proxy = createServer();
  proxy.on("connect", ({ url = "" }, socket) => {
    hosts.push(url);
    socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
  });
  await once(proxy.listen(0, "127.0.0.1"), "listening");
  t.teardown(() => proxy.close());
  const env = {
    HTTPS_PROXY: `http://127.0.0.1:${boundAddress(proxy).port}`, AWS_EC2_METADATA_DISABLED: "true",
    AWS_ROLE_ARN: "arn:aws:iam::111122223333:role/a", AWS_WEB_IDENTITY_TOKEN_FILE: path.join(ROOT, "package.json"),
    HOME: t.testdirName, ...environment,
  };
  const child = spawn(process.execPath, ["--input-type=module", "-e", SCRIPT], { cwd: ROOT, env, stdio: "inherit" });
  await once(child, "exit");
  t.equal(child.exitCode, 0);
  return [...new Set(hosts)];
}

test("STS calls use the proxy in HTTPS_PROXY if NODE_USE_ENV_PROXY is 1", async (t) => {
  t.same(await proxied(t, { NODE_USE_ENV_PROXY: "1" }), ["127.0.0.1:1", "127.0.0.2:1"]);
  t.same(await proxied(t, { NODE_USE_ENV_PROXY: "1", NO_PROXY: "127.0.0.1" }), ["127.0.0.2:1"]);
});

test("STS calls use no proxy without NODE_USE_ENV_PROXY", async (t) => {
  t.same(await proxied(t, {}), []);
});
