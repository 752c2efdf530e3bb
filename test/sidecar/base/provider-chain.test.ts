import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { type Test, test } from "tap";
import type { BaseProvider } from "../../../sidecar/base/identity.ts";
import { defaultProviderChain } from "../../../sidecar/base/provider.ts";
import { containerAnswer, EXPIRES, type Fake, metadataAnswer, startFake, stsAnswer } from "../loopback-providers.ts";

const ROLE = "arn:aws:iam::999999999999:role/ack";
const EXPIRATION_MS = Date.parse(EXPIRES);

interface Setting {
  readonly folder: string;
  readonly env: Record<string, string>;
  /** The STS endpoint in the settings of the sidecar. */
  readonly sts: Fake;
  /** An STS server that only the environment and the profile name, so that no request may reach this server. */
  readonly trap: Fake;
  readonly provide: BaseProvider;
}

/** Returns a provider chain of the real SDK. The environment names the trap as the STS endpoint. */
async function subject(t: Test, files: Readonly<Record<string, string>> = {}): Promise<Setting> {
  const [sts, trap] = await Promise.all([startFake(t, stsAnswer), startFake(t, stsAnswer)]);
  const folder = t.testdir({ credentials: "", config: "", ...files });
  const config = join(folder, "config");
  if (files["config"] === undefined) await writeFile(config, `[default]\nendpoint_url = ${trap.url}\n`);
  const env: Record<string, string> = {
    PATH: process.env["PATH"] ?? "", HOME: folder, AWS_CONFIG_FILE: config,
    AWS_SHARED_CREDENTIALS_FILE: join(folder, "credentials"),
    AWS_EC2_METADATA_DISABLED: "true", AWS_ENDPOINT_URL: trap.url, AWS_ENDPOINT_URL_STS: trap.url,
  };
  t.intercept(process, "env", { value: env });
  return { folder, env, sts, trap, provide: defaultProviderChain({ region: "eu-west-1", endpoint: sts.url }) };
}

test("reads the web identity token file for each refresh, and calls only the sidecar's STS endpoint", async (t) => {
  const { folder, env, sts, trap, provide } = await subject(t, { token: "first-token" });
  const tokenFile = join(folder, "token");
  Object.assign(env, { AWS_ROLE_ARN: ROLE, AWS_ROLE_SESSION_NAME: "pod", AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile });
  const expirationMs = EXPIRATION_MS;
  t.same(await provide(), { accessKeyID: "ASIASTS1", secretAccessKey: "s", sessionToken: "t", expirationMs });
  await writeFile(join(folder, "token"), "second-token");
  t.match(
    await provide(),
    { accessKeyID: "ASIASTS2" },
    "a new session is requested although the first has not expired",
  );
  t.match(sts.requests.map(({ body }) => Object.fromEntries(new URLSearchParams(body))), [
    { Action: "AssumeRoleWithWebIdentity", RoleArn: ROLE, RoleSessionName: "pod", WebIdentityToken: "first-token" },
    { WebIdentityToken: "second-token" },
  ]);
  t.same(trap.requests, []);
});

test("assumes the role of a profile at the sidecar's STS endpoint, and ignores endpoints of the profile", async (t) => {
  const source = "[source]\naws_access_key_id = AKIASOURCE\naws_secret_access_key = s\n";
  const { env, folder, sts, trap, provide } = await subject(t, { credentials: source, config: "" });
  await writeFile(join(folder, "config"), [
    "[profile ack]", `role_arn = ${ROLE}`, "source_profile = source", "external_id = planted-external-id",
    "region = eu-west-1", `endpoint_url = ${trap.url}`, "services = own", "[services own]", "sts =",
    `  endpoint_url = ${trap.url}`, "",
  ].join("\n"));
  env["AWS_PROFILE"] = "ack";
  t.match(await provide(), { accessKeyID: "ASIASTS1", sessionToken: "t", expirationMs: EXPIRATION_MS });
  t.match(await provide(), { accessKeyID: "ASIASTS2" });
  t.match(sts.requests[0]?.headers["authorization"], "Credential=AKIASOURCE/");
  const form = Object.fromEntries(new URLSearchParams(sts.requests[0]?.body));
  t.match(form, { Action: "AssumeRole", RoleArn: ROLE, ExternalId: "planted-external-id" });
  t.same(trap.requests, []);
});

test("runs credential_process for each refresh", async (t) => {
  const { env, folder, provide } = await subject(t);
  const program = join(folder, "credentials.mjs");
  const session = { Version: 1, SecretAccessKey: "s", SessionToken: "t", Expiration: EXPIRES };
  const output = `{ ...${JSON.stringify(session)}, AccessKeyId: "ASIAPROCESS" + process.pid }`;
  await writeFile(program, `console.log(JSON.stringify(${output}))\n`);
  await writeFile(join(folder, "config"), `[profile ack]\ncredential_process = ${process.execPath} ${program}\n`);
  env["AWS_PROFILE"] = "ack";
  const [first, second] = [await provide(), await provide()];
  t.match(first, { accessKeyID: /^ASIAPROCESS\d+$/, sessionToken: "t", expirationMs: EXPIRATION_MS });
  t.not(first.accessKeyID, second.accessKeyID);
});

test("reads the token file of the container endpoint (Pod Identity) for each refresh", async (t) => {
  const { env, folder, provide } = await subject(t, { token: "first-token" });
  const container = await startFake(t, containerAnswer);
  Object.assign(env, {
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `${container.url}/v1/credentials`,
    AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: join(folder, "token"),
  });
  t.same(await provide(), {
    accessKeyID: "ASIACONTAINER1", secretAccessKey: "s", sessionToken: "t", expirationMs: EXPIRATION_MS,
  });
  await writeFile(join(folder, "token"), "second-token");
  t.match(await provide(), { accessKeyID: "ASIACONTAINER2" });
  t.match(container.requests, [
    { path: "/v1/credentials", headers: { authorization: "first-token" } },
    { headers: { authorization: "second-token" } },
  ]);
});

test("uses IMDSv2 to request credentials from the instance metadata", async (t) => {
  const { env, provide } = await subject(t);
  const metadata = await startFake(t, metadataAnswer);
  Object.assign(env, { AWS_EC2_METADATA_DISABLED: "false", AWS_EC2_METADATA_SERVICE_ENDPOINT: metadata.url });
  const first = await provide();
  t.match(first, { accessKeyID: /^ASIAIMDS/, secretAccessKey: "s", sessionToken: "t", expirationMs: EXPIRATION_MS });
  t.not((await provide()).accessKeyID, first.accessKeyID, "new credentials are requested");
  t.match(metadata.requests[0], { method: "PUT", path: "/latest/api/token" });
});
